// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::device_plugin {

// How well two GPUs are connected. Symmetric; 0 for a GPU and itself.
using PairScores = std::vector<std::vector<int>>;

// What of a GPU decides how it is offered.
struct Gpu {
  unsigned index = 0;  // NVML's
  unsigned minor = 0;  // of /dev/nvidia<minor>
  std::string uuid;
  std::string name;        // "Tesla T4"
  std::string pci_bus_id;  // as sysfs spells it
  int numa_node = -1;      // -1: none
  bool mig_enabled = false;
  bool operator==(const Gpu&) const = default;
};

// The GPUs of a node as one look at them found them.
struct GpuSet {
  std::vector<Gpu> gpus;  // by index
  PairScores scores;      // in their order
  std::string driver_version;
  std::string cuda_version;         // "12.4"; may be empty
  std::vector<std::string> failed;  // a sentence for each GPU that could not be read
  bool operator==(const GpuSet&) const = default;
};

}  // namespace gantry::device_plugin
