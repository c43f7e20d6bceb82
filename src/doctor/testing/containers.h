// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "doctor/container_findings.h"
#include "doctor/workload_findings.h"

namespace gantry::doctor {

inline constexpr char kDriverApp[] = "nvidia-driver-daemonset";
inline constexpr char kPluginApp[] = "nvidia-device-plugin-daemonset";

// Containers of operands and of pods with GPUs, on two nodes.
class ContainerTest : public ::testing::Test {
 protected:
  ContainerTest() {
    cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
    for (const char* name : {"n1", "n2"}) {
      NodeFacts node;
      node.name = name;
      node.ready = true;
      cluster_.nodes.push_back(node);
    }
  }
  static ContainerFacts Of(const char* app, const char* waiting) {
    ContainerFacts facts;
    facts.ns = "gpu-operator";
    facts.pod = "p";
    facts.app = app;
    facts.node = "n1";
    facts.container = "main";
    facts.image = "registry/x:1";
    facts.waiting = waiting;
    return facts;
  }
  static ContainerFacts Crashing(const char* app, const char* log) {
    ContainerFacts facts = Of(app, "CrashLoopBackOff");
    facts.ended = "Error";
    facts.exit_code = 1;
    facts.log = log;
    return facts;
  }
  std::vector<Finding> Operand(std::vector<ContainerFacts> containers) {
    cluster_.operand_containers = std::move(containers);
    std::vector<Finding> findings;
    ExamineOperandContainers(StagedCluster(cluster_), findings);
    return findings;
  }
  std::vector<Finding> Workload(const ContainerFacts& container) {
    cluster_.workload_containers = {container};
    std::vector<Finding> findings;
    ExamineWorkloadContainers(cluster_, findings);
    return findings;
  }
  std::string Ago(std::chrono::minutes ago) const { return Rfc3339(cluster_.now - ago); }

  ClusterFacts cluster_;
};

}  // namespace gantry::doctor
