// SPDX-License-Identifier: Apache-2.0
#include "agent/feature_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/kubeconfig.h"
#include "base/testing/temp_folder.h"
#include "kube/testing/fake_server.h"

namespace gantry::agent {
namespace {

TEST(FeaturePublisherTest, StoresAnObjectOfItsNodeInTheCredentialsNamespace) {
  Json stored;
  std::string target;
  kube::FakeServer server([&](const kube::FakeServer::Request& request) -> kube::FakeServer::Reply {
    if (request.method == "POST") {
      stored = Json::parse(request.body);
      target = request.target;
      return {.status = 201, .body = request.body};
    }
    return stored.is_null() ? kube::FakeServer::Reply{.status = 404}
                            : kube::FakeServer::Reply{.body = stored.dump()};
  });
  const TempFolder folder;
  folder.Write("kubeconfig", KubeconfigOf(server));
  const FeaturePublisher publisher(
      {.node = "n", .ns = "", .component = "test", .kubeconfig = folder / "kubeconfig"});
  const auto store = [&](kube::Client& client) {
    return publisher.Store(client, "a-n", [](const Json*) {
      policy::NodeFeature wanted;
      wanted.labels = {{"x", "1"}};
      return wanted;
    });
  };
  EXPECT_TRUE(publisher.Connected(store).value());
  EXPECT_THAT(target, testing::HasSubstr("/namespaces/of-context/nodefeatures"));
  EXPECT_EQ(stored["metadata"]["name"], "a-n");
  EXPECT_EQ(stored["metadata"]["labels"]["nfd.node.kubernetes.io/node-name"], "n");
  EXPECT_FALSE(publisher.Connected(store).value()) << "it is stored";
}

TEST(FeaturePublisherTest, InAChildTheResultAndTheErrorAreTheSame) {
  kube::FakeServer server(
      [](const kube::FakeServer::Request&) -> kube::FakeServer::Reply { return {}; });
  const TempFolder folder;
  folder.Write("kubeconfig", KubeconfigOf(server));
  FeaturePublisher publisher(
      {.node = "n", .ns = "s", .component = "test", .kubeconfig = folder / "kubeconfig"});
  const auto returns = [](Result<bool> result) {
    return [result](kube::Client&) { return result; };
  };
  EXPECT_TRUE(publisher.ConnectedInChild(returns(true), -1).value());
  EXPECT_FALSE(publisher.ConnectedInChild(returns(false), -1).value());
  const Result<bool> denied =
      publisher.ConnectedInChild(returns(Fail(ErrorKind::kDenied, "so it is")), -1);
  EXPECT_EQ(denied.error().kind, ErrorKind::kDenied);
}

}  // namespace
}  // namespace gantry::agent
