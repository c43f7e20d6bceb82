// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nvml/nvml.h"

namespace gantry::gpu {

// The properties of a GPU that decide how containers get it.
struct Gpu {
  unsigned index = 0;  // NVML's
  unsigned minor = 0;  // of /dev/nvidia<minor>
  std::string uuid;
  std::string name;        // "Tesla T4"
  std::string pci_bus_id;  // as sysfs spells it
  int numa_node = -1;      // -1: none
  int compute_major = 0;   // 0: the driver does not report it
  uint64_t memory_mib = 0;
  bool mig_enabled = false;
  std::vector<nvml::MigDevice> mig_devices = {};  // by index
  // Of each MIG device, in their order: "/dev/nvidia-caps/nvidia-cap12", ...; empty unless
  // requested.
  std::vector<std::vector<std::string>> mig_nodes = {};
  std::optional<bool> coherent = {};  // of the CPU's memory; nullopt: not known
  std::string brand = {};             // "tesla", "geforce", ...; "unknown"
  int compute_minor = 0;
  uint64_t memory_bytes = 0;         // 0: the driver does not report it
  std::string addressing_mode = {};  // "None", "HMM", "ATS"; empty: the driver does not report it
  bool operator==(const Gpu&) const = default;
};

// Everything but `mig_nodes`, which come from procfs.
Gpu FromNvml(const nvml::Device& device);

}  // namespace gantry::gpu
