// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gantry::gpu_operator {

// The system of a driver.
struct SystemFacts {
  std::string id;                       // "ubuntu", as in os-release
  std::string tag;                      // "ubuntu22.04": as in tags of NVIDIA's driver images
  std::vector<std::string> kernels;     // the release of a precompiled driver; else empty
  std::vector<std::string> rhcos = {};  // the version that OpenShift's toolkit builds for; likewise
  bool operator==(const SystemFacts&) const = default;
};

// One DaemonSet of a ClusterPolicy's driver: the nodes that run the same image.
struct DriverPart {
  std::string name;  // of the DaemonSet
  SystemFacts system;
  std::string runtime = "containerd";        // of its nodes, as in the toolkit's RUNTIME
  std::map<std::string, std::string> nodes;  // node selector
  bool operator==(const DriverPart&) const = default;
};

// All of them. DriverDivision has the nodes without a driver.
struct DriverParts {
  std::vector<DriverPart> sets;
  bool whole = true;  // false: other existing ones are kept
  bool operator==(const DriverParts&) const = default;
};

}  // namespace gantry::gpu_operator
