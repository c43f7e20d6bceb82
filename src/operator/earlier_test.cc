// SPDX-License-Identifier: Apache-2.0
#include "operator/earlier.h"

#include <gtest/gtest.h>

#include "operator/plan.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

const Json kOwner = {{"apiVersion", "nvidia.com/v1"}, {"kind", "ClusterPolicy"}, {"uid", "1"}};

Json Desired() {
  return {{"apiVersion", "node.k8s.io/v1"},
          {"kind", "RuntimeClass"},
          {"handler", "nvidia"},
          {"metadata",
           {{"name", "nvidia"},
            {"labels", {{names::kManagedBy, names::kManagedByGantry}}},
            {"ownerReferences", Json::array({kOwner})}}}};
}

// As k3s and RKE2 bring one; op#446: with another handler.
Json Distributions() {
  return {{"apiVersion", "node.k8s.io/v1"},
          {"kind", "RuntimeClass"},
          {"handler", "nvidia-experimental"},
          {"metadata",
           {{"name", "nvidia"},
            {"uid", "7"},
            {"resourceVersion", "8"},
            {"labels", {{names::kManagedBy, "Helm"}, {"objectset.rio.cattle.io/hash", "h"}}}}}};
}

TEST(Earlier, WhatOthersMadeIsRememberedAndHasNoOwner) {
  const Json taken = WithEarlier(Desired(), Distributions());
  EXPECT_FALSE(taken["metadata"].contains("ownerReferences"));
  Json as_it_was = Distributions();
  as_it_was["metadata"].erase("uid");
  as_it_was["metadata"].erase("resourceVersion");
  EXPECT_EQ(EarlierOf(taken), as_it_was);
  // Once it is taken over nothing is to be written any more, and what is remembered stays.
  const Json stored = Replacement(taken, Distributions());
  const Json again = WithEarlier(Desired(), stored);
  EXPECT_TRUE(IsAsDesired(again, stored));
  EXPECT_EQ(EarlierOf(again), as_it_was);
  EXPECT_TRUE(MakePlan({Desired()}, {{KeyOfObject(stored), stored}}, {}).empty());
}

TEST(Earlier, WhatIsTheOperatorsOrNvidiasIsNot) {
  Json nvidias = Distributions();
  nvidias["metadata"]["ownerReferences"] = Json::array({kOwner});
  for (const Json& observed : {Desired(), nvidias}) {
    EXPECT_EQ(WithEarlier(Desired(), observed), Desired());
    EXPECT_TRUE(EarlierOf(observed).is_null());
  }
}

TEST(Earlier, AnAnnotationThatSomebodyBrokeRemembersNothing) {
  Json object = Desired();
  object["metadata"]["annotations"][kEarlier] = "[";
  EXPECT_TRUE(EarlierOf(object).is_null());
}

}  // namespace
}  // namespace gantry::gpu_operator
