// SPDX-License-Identifier: Apache-2.0
#include "agent/own_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>

#include "agent/testing/kubeconfig.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"
#include "kube/testing/eventually.h"
#include "kube/testing/fake_server.h"

namespace gantry::agent {
namespace {

using testing::HasSubstr;

bool IsReadable(int fd, int milliseconds) {
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&one, 1, milliseconds) == 1;
}

TEST(OwnNodeTest, TheLabelIsReadAtTheStartAndWhenItChanges) {
  std::atomic<bool> changed = false;
  kube::FakeServer server([&](const kube::FakeServer::Request& request) -> kube::FakeServer::Reply {
    if (request.target.find("watch=true") == std::string::npos) {
      return {.body =
                  R"({"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}]})"};
    }
    const bool first = !changed.exchange(true);
    const char* const again =
        R"({"type":"MODIFIED","object":{"metadata":{"name":"a","labels":{"other":"1"},"resourceVersion":"8"}}})";
    const char* const other =
        R"({"type":"MODIFIED","object":{"metadata":{"name":"a","labels":{"my/label":"b"},"resourceVersion":"9"}}})";
    return {.body = first ? format("{}\n{}\n", again, other) : "", .silent = true};
  });
  const TempFolder folder;
  folder.Write("kubeconfig", KubeconfigOf(server));
  OwnNode node({.name = "a", .component = "test", .kubeconfig = folder / "kubeconfig"});
  EXPECT_EQ(node.label_fd(), -1);
  EXPECT_EQ(node.TakeLabel().error().kind, ErrorKind::kUnavailable);
  ASSERT_TRUE(node.WatchLabel("my/label"));
  ASSERT_TRUE(IsReadable(node.label_fd(), 10'000));
  std::optional<std::string> label = node.TakeLabel().value();
  // A Node without the label has been seen, or already the next one.
  if (!label) {
    ASSERT_TRUE(IsReadable(node.label_fd(), 10'000));
    label = node.TakeLabel().value();
  }
  EXPECT_EQ(label, "b");
  EXPECT_FALSE(IsReadable(node.label_fd(), 0)) << "until it changes again";
}

TEST(OwnNodeTest, EventsNameTheNodeByItsNameAsTheKubeletsDo) {
  std::string written;
  std::atomic<bool> done = false;
  kube::FakeServer server([&](const kube::FakeServer::Request& request) -> kube::FakeServer::Reply {
    if (request.method == "POST") {
      written = request.body;
      done = true;
    }
    return {};
  });
  const TempFolder folder;
  folder.Write("kubeconfig", KubeconfigOf(server));
  OwnNode node({.name = "a", .component = "test", .kubeconfig = folder / "kubeconfig"});
  node.Warning("GPUUnreadable", "it is so");
  ASSERT_TRUE(kube::Eventually([&] { return done.load(); }));
  const Json event = Json::parse(written);
  EXPECT_EQ(event["involvedObject"].value("uid", ""), "a");
  EXPECT_EQ(event["source"]["component"], "test");
  EXPECT_EQ(event["type"], "Warning");
}

TEST(OwnNodeTest, WithoutAnApiServerTheLogSaysSoOnce) {
  OwnNode node({.name = "a", .component = "test", .kubeconfig = "/nowhere"});
  testing::internal::CaptureStderr();
  node.Normal("A", "a");
  node.Warning("B", "b");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("events go to the log only"));
  EXPECT_EQ(said.find("events go"), said.rfind("events go"));
  EXPECT_FALSE(node.WatchLabel("my/label").has_value());
  EXPECT_FALSE(node.watches());
}

TEST(OwnNodeTest, WithoutANameNothingIsWrittenAndNothingIsSaid) {
  OwnNode node({.name = "", .component = "test"});
  testing::internal::CaptureStderr();
  node.Normal("A", "a");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace gantry::agent
