// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/pod_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/gpus.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

kubelet::PodResources Pod(const std::string& name, const std::vector<std::string>& ids) {
  return {.ns = "team",
          .name = name,
          .containers = {{.name = "c", .devices = {{.resource = "nvidia.com/gpu", .ids = ids}}}}};
}

std::vector<gpu::Holder> Of(const PodsSeen& seen, const PodChoice& choice) {
  return HoldersNow(seen, gpu::Gpus(1), choice)[{"GPU-0"}];
}

TEST(PodHolders, HaveTheUidOfTheirFolder) {
  PodsSeen seen{.pods = {Pod("a", {"GPU-0"})}};
  seen.node.uids[{"team", "a"}] = "u1";
  EXPECT_EQ(Of(seen, {})[0].uid, "u1");
  EXPECT_THAT(Of(seen, {})[0].attributes, IsEmpty());
  EXPECT_THAT(Of(seen, {.uid_label = true})[0].attributes, ElementsAre(Pair("pod_uid", "u1")));
  EXPECT_THAT(Of(seen, {.every_holder = true})[0].attributes, SizeIs(1));
  EXPECT_THAT(Of({.pods = seen.pods}, {.uid_label = true})[0].attributes, IsEmpty());
}

TEST(PodHolders, HaveTheLabelsAndUidOfTheApiServer) {
  PodsSeen seen{.pods = {Pod("a", {"GPU-0"})}};
  seen.node.uids[{"team", "a"}] = "file";
  seen.facts[{"team", "a"}] = {.uid = "api", .labels = {{"app", "x"}}};
  const auto holder = Of(seen, {.uid_label = true})[0];
  EXPECT_EQ(holder.uid, "file") << "the one that its cgroup has";
  EXPECT_THAT(holder.attributes, ElementsAre(Pair("pod_uid", "api")));
  EXPECT_THAT(holder.labels, ElementsAre(Pair("app", "x")));
}

TEST(PodHolders, OneWithoutACgroupIsNone) {
  PodsSeen seen{.pods = {Pod("a", {"GPU-0::0"}), Pod("b", {"GPU-0::1"})}};
  seen.node.uids = {{{"team", "a"}, "u1"}, {{"team", "b"}, "u2"}};
  seen.node.running = {"u2"};
  const PodChoice each{.every_holder = true};
  ASSERT_THAT(Of(seen, each), SizeIs(1));
  EXPECT_EQ(Of(seen, each)[0].pod, "b");
  EXPECT_THAT(Of(seen, {}), SizeIs(2)) << "dcgm-exporter's own choice";
  seen.node.running.reset();
  EXPECT_THAT(Of(seen, each), SizeIs(2)) << "not known";
}

TEST(PodHolders, ComeOnceEach) {
  const PodsSeen seen{.pods = {Pod("a", {"GPU-0", "nvidia10"})}};
  EXPECT_THAT(Of(seen, {}), SizeIs(1));
}

}  // namespace
}  // namespace gantry::metrics_exporter
