// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "doctor/findings.h"
#include "doctor/pod_facts.h"

// A cluster for tests, as an API server would show it.
namespace gantry::doctor {

// A GPU node as an API server would show it.
inline Json GpuNode(const std::string& name, long long gpus) {
  Json node = Json::parse(R"({"metadata": {"labels": {"nvidia.com/gpu.present": "true",
      "nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/cuda.driver-version.full": "535.1"}},
      "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})");
  node["metadata"]["name"] = name;
  node["status"]["capacity"] = {{"cpu", "8"}, {"nvidia.com/gpu", std::to_string(gpus)}};
  node["status"]["allocatable"] = node["status"]["capacity"];
  return node;
}

inline Json GpuPod(const std::string& name, int gpus) {
  Json pod = Json::parse(R"({"metadata": {"namespace": "default"}, "spec": {"tolerations": [
      {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
      "containers": [{"name": "main"}]},
      "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
      "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}]}})");
  pod["metadata"]["name"] = name;
  pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(gpus);
  return pod;
}

inline Json NoSchedule(const char* key, const char* value) {
  return {{"key", key}, {"value", value}, {"effect", "NoSchedule"}};
}

// A cluster with one healthy node, and waiting pods.
class GpuClusterTest : public ::testing::Test {
 protected:
  GpuClusterTest() {
    cluster_.policies = {{.object = "ClusterPolicy cluster-policy",
                          .state = "ready",
                          .conditions = {},
                          .unsupported_fields = {}}};
    node_ = GpuNode("n1", 8);
  }
  // The findings for the node as it is now, and only these pods.
  std::vector<Finding> With(const std::vector<Json>& pods) {
    cluster_.nodes = {NodeFrom(node_)};
    cluster_.pending.clear();
    for (const Json& pod : pods) {
      cluster_.pending.push_back(PodFrom(pod));
    }
    return Examine(cluster_);
  }

  ClusterFacts cluster_;
  Json node_;
};

}  // namespace gantry::doctor
