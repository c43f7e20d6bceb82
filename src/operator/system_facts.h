// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::gpu_operator {

// The system of the nodes with GPUs; all empty until node feature discovery has described one.
struct SystemFacts {
  std::string id;                       // "ubuntu", as in os-release
  std::string tag;                      // "ubuntu22.04": how NVIDIA's driver images call it
  std::vector<std::string> kernels;     // releases, each once, in order
  std::vector<std::string> rhcos = {};  // versions of RHCOS on any of them, each once, in order
  bool operator==(const SystemFacts&) const = default;
};

}  // namespace gantry::gpu_operator
