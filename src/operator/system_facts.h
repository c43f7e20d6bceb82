// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gantry::gpu_operator {

// The system that a driver is made for.
struct SystemFacts {
  std::string id;                       // "ubuntu", as in os-release
  std::string tag;                      // "ubuntu22.04": how NVIDIA's driver images call it
  std::vector<std::string> kernels;     // the release that a precompiled driver is for; else empty
  std::vector<std::string> rhcos = {};  // the version that OpenShift's toolkit builds for; likewise
  bool operator==(const SystemFacts&) const = default;
};

// One DaemonSet of a ClusterPolicy's driver: the nodes that run the same image.
struct DriverPart {
  std::string name;  // of the DaemonSet
  SystemFacts system;
  std::string runtime = "containerd";        // of its nodes, as the toolkit's RUNTIME has it
  std::map<std::string, std::string> nodes;  // node selector
  bool operator==(const DriverPart&) const = default;
};

// All of them. What of a driver is not made is told by DriverDivision.
struct DriverParts {
  std::vector<DriverPart> sets;
  bool whole = true;  // false: what is there besides stays
  bool operator==(const DriverParts&) const = default;
};

}  // namespace gantry::gpu_operator
