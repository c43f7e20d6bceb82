// SPDX-License-Identifier: Apache-2.0
#include "doctor/status_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"

namespace gantry::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

NodeFacts GpuNode() {
  NodeFacts node;
  node.name = "n1";
  node.ready = true;
  node.labels = {{"nvidia.com/gpu.present", "true"},
                 {"nvidia.com/gpu.product", "Tesla-T4"},
                 {"nvidia.com/gpu.validation", "ready"},
                 {"nvidia.com/cuda.driver-version.full", "535.1"}};
  node.capacity = {{"nvidia.com/gpu", 8}};
  node.allocatable = {{"nvidia.com/gpu", 7}};
  return node;
}

TEST(StatusTable, ShowsNodesAndOperands) {
  ClusterFacts cluster;
  EXPECT_THAT(StatusText(cluster), HasSubstr("no node with a GPU"));
  NodeFacts other;
  other.name = "cpu1";
  cluster.nodes = {GpuNode(), other};
  cluster.operands = {{.name = "gpu-feature-discovery", .desired = 1, .ready = 1, .updated = 1}};
  cluster.policies = {{.object = "ClusterPolicy cluster-policy",
                       .state = "ready",
                       .conditions = {},
                       .unsupported_fields = {}}};
  EXPECT_EQ(StatusText(cluster),
            "ClusterPolicy cluster-policy: ready\n\n"
            "OPERAND                READY\n"
            "gpu-feature-discovery  1/1\n\n"
            "NODE  STAGE           ALLOCATABLE  PRODUCT   DRIVER  CUDA\n"
            "n1    GPUs unhealthy  gpu=7/8      Tesla-T4  535.1   -\n");
}

TEST(StatusTable, NamesTheKindOfAPolicy) {
  ClusterFacts cluster;
  EXPECT_THAT(StatusText(cluster), HasSubstr("no ClusterPolicy\n"));
  cluster.policies = {PolicyFrom(*ParseJson(R"({"kind": "GPUClusterPolicy",
      "metadata": {"name": "gpu-cluster-policy"}, "status": {"state": "ready"}})"))};
  EXPECT_THAT(StatusText(cluster), HasSubstr("GPUClusterPolicy gpu-cluster-policy: ready\n"));
}

TEST(StatusTable, ShowsDriversThatAreNotUpgradedYet) {
  ClusterFacts cluster;
  cluster.policies = {PolicyFrom(*ParseJson(R"({
      "metadata": {"name": "p"}, "status": {"state": "notReady", "driverUpgrades": {
          "total": 4, "done": 1, "inProgress": 1, "failed": 1, "pending": 1, "nodes": [
              {"name": "n1", "state": "upgrade-failed", "since": "T1", "reason": "no image",
               "next": "correct the cause"},
              {"name": "n2", "state": "drain-required", "deadline": "T2"}]}}})"))};
  EXPECT_THAT(StatusText(cluster),
              HasSubstr("\nDriver upgrades: 1 of 4 done, 1 in progress, 1 failed, 1 pending\n"
                        "NODE  STATE           SINCE  DEADLINE  NEXT               REASON\n"
                        "n1    upgrade-failed  T1     -         correct the cause  no image\n"
                        "n2    drain-required  -      T2        -                  -\n"));
  cluster.policies[0].upgrades.value().nodes.clear();
  EXPECT_THAT(StatusText(cluster), Not(HasSubstr("Driver upgrades")));
}

TEST(Screen, FitsTheTerminal) {
  EXPECT_EQ(Screen("ab\nc\n", 5, 80), "\x1b[Hab\x1b[K\r\nc\x1b[K\x1b[J");
  EXPECT_EQ(Screen("abcdef\n", 5, 3), "\x1b[Habc\x1b[K\x1b[J");
  EXPECT_EQ(Screen("ab\u00e4\n", 5, 3), "\x1b[Hab\x1b[K\x1b[J");
  EXPECT_EQ(Screen("a\nb\nc\n", 2, 80), "\x1b[Ha\x1b[K\r\n... and 2 lines more\x1b[K\x1b[J");
  // A size that is not known cuts nothing.
  EXPECT_EQ(Screen("abc\nd\n", 0, 0), "\x1b[Habc\x1b[K\r\nd\x1b[K\x1b[J");
}

}  // namespace
}  // namespace gantry::doctor
