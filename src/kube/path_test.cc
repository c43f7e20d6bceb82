// SPDX-License-Identifier: Apache-2.0
#include "kube/path.h"

#include <gtest/gtest.h>

namespace gantry::kube {
namespace {

TEST(Path, OfCollectionsAndObjects) {
  EXPECT_EQ(CollectionPath(kinds::kNode, "ignored"), "/api/v1/nodes");
  EXPECT_EQ(CollectionPath(kinds::kDaemonSet, ""), "/apis/apps/v1/daemonsets");
  EXPECT_EQ(CollectionPath(kinds::kDaemonSet, "a"), "/apis/apps/v1/namespaces/a/daemonsets");
  EXPECT_EQ(ObjectPath(kinds::kPod, {"a", "b"}, "eviction"),
            "/api/v1/namespaces/a/pods/b/eviction");
}

TEST(Path, ANameCannotLeaveItsSegment) {
  EXPECT_EQ(ObjectPath(kinds::kNode, {"", "../secrets?x"}), "/api/v1/nodes/..%2Fsecrets%3Fx");
}

TEST(Query, EncodesValuesAndLeavesOutEmptyOnes) {
  EXPECT_EQ(Query().text(), "");
  EXPECT_EQ(Query().Add("a", "x in (1,2)").Add("b", "").Add("c", "d=e").text(),
            "?a=x%20in%20%281%2C2%29&c=d%3De");
}

TEST(ObjectKey, TextAndBack) {
  EXPECT_EQ((Key{"a", "b"}).Text(), "a/b");
  EXPECT_EQ((Key{"", "b"}).Text(), "b");
  EXPECT_EQ(Key::FromText("a/b"), (Key{"a", "b"}));
  EXPECT_EQ(Key::FromText("b"), (Key{"", "b"}));
}

TEST(Object, MetadataIsReadAndReferencesAreMade) {
  const Json object = ParseJson(R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{
      "name":"n","namespace":"s","uid":"u","resourceVersion":"7","labels":{"a.b/c":"d"}}})")
                          .value();
  EXPECT_EQ(KeyOf(object), (Key{"s", "n"}));
  EXPECT_EQ(ResourceVersionOf(object), "7");
  EXPECT_EQ(*LabelOf(object, "a.b/c"), "d");
  EXPECT_EQ(LabelOf(object, "none"), nullptr);
  EXPECT_EQ(AnnotationOf(object, "none"), nullptr);
  EXPECT_EQ(OwnerReference(object, true).at("controller"), true);
  EXPECT_EQ(OwnerReference(object, false).at("uid"), "u");
  EXPECT_EQ(ReferenceTo(object).at("namespace"), "s");
  EXPECT_EQ(KeyOf(NewObject(kinds::kNode, {"", "x"})), (Key{"", "x"}));
  EXPECT_TRUE(KeyOf(Json()).name.empty());
}

}  // namespace
}  // namespace gantry::kube
