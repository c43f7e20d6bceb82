// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "doctor/node_findings.h"

namespace gantry::doctor {

inline constexpr char kMigState[] = "nvidia.com/mig.config.state";
inline constexpr char kUpgradeState[] = "nvidia.com/gpu-driver-upgrade-state";

// A healthy GPU node, and a time.
class GpuNodeTest : public ::testing::Test {
 protected:
  GpuNodeTest() {
    cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
    NodeFacts node;
    node.name = "n1";
    node.ready = true;
    node.labels = {{"nvidia.com/gpu.present", "true"},
                   {"nvidia.com/gpu.product", "A100"},
                   {"nvidia.com/gpu.validation", "ready"},
                   {"nvidia.com/gpu.deploy.gpu-feature-discovery", "true"},
                   {"nvidia.com/gpu.deploy.device-plugin", "true"},
                   {"nvidia.com/gpu.deploy.operator-validator", "true"},
                   {"nvidia.com/cuda.driver-version.full", "535.1"}};
    node.capacity = {{"nvidia.com/gpu", 8}};
    node.allocatable = node.capacity;
    cluster_.nodes = {node};
  }
  std::vector<Finding> Examined() const {
    std::vector<Finding> findings;
    ExamineNodes(StagedCluster(cluster_), findings);
    return findings;
  }
  std::string CodeOf() const {
    const std::vector<Finding> findings = Examined();
    EXPECT_LE(findings.size(), 1U);
    return findings.empty() ? "" : findings[0].code;
  }
  NodeFacts& node() { return cluster_.nodes[0]; }
  // A finding about an operand, on these nodes.
  static Finding Of(const char* code, const char* operand, std::set<std::string> nodes) {
    Finding finding = Problem(code, operand, "", "");
    finding.explains = operand;
    finding.nodes = std::move(nodes);
    return finding;
  }
  NodeStage Stage() { return StagedCluster(cluster_).Of(node()); }
  // If some are still offered, or the node's condition names one.
  void ExpectThatIllGpusAreTold() {
    node().allocatable["nvidia.com/gpu"] = 7;
    EXPECT_EQ(CodeOf(), "GpusUnhealthy");
    node().allocatable["nvidia.com/gpu"] = 0;
    node().gpus_out = "GPU-1 is out of service: XID 79";
    EXPECT_EQ(CodeOf(), "GpusUnhealthy");
  }
  // Sets the label, as written that long ago.
  void Write(NodeFacts& node, const char* label, const char* value,
             std::chrono::minutes ago) const {
    node.labels[label] = value;
    node.written[label] = Rfc3339(cluster_.now - ago);
  }

  ClusterFacts cluster_;
};

}  // namespace gantry::doctor
