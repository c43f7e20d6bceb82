// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "gpu/vgpu.h"
#include "nvml/nvml.h"

namespace gantry::gpu_features {

// NVML tells memory in bytes, labels and objects in MiB.
inline constexpr uint64_t kBytesPerMiB = uint64_t{1024} * 1024;

// All that the labels are made of.
struct Facts {
  std::string driver_version;      // "535.183.01"
  int cuda_version = 0;            // NVML's number: 12040 is 12.4
  std::vector<nvml::Device> gpus;  // by index
  int failed_gpus = 0;             // GPUs that are there but did not answer
  std::string machine;             // the machine type file's text; empty: unreadable
  // PCI class (0x030200) of NVIDIA's functions by sysfs address.
  std::map<std::string, int> pci_classes;
  // False when an NVIDIA function's configuration space cannot be read whole (that needs
  // CAP_SYS_ADMIN): then nothing is known about vGPUs.
  bool config_space_readable = false;
  std::optional<gpu::VgpuHost> vgpu;  // of the first function that is a virtual GPU
  bool operator==(const Facts&) const = default;
};

// Facts travel as JSON from the process that asks the driver, and stand so in golden tests.
Json ToJson(const Facts& facts);
// kInvalid names what is missing or of another type.
Result<Facts> FactsFromJson(const Json& json);

}  // namespace gantry::gpu_features
