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

// NVML's memory is in bytes; labels and objects have MiB.
inline constexpr uint64_t kBytesPerMiB = uint64_t{1024} * 1024;

// Everything that the labels depend on.
struct Facts {
  std::string driver_version;      // "535.183.01"
  int cuda_version = 0;            // NVML's number: 12040 is 12.4
  std::vector<nvml::Device> gpus;  // by index
  int failed_gpus = 0;             // existing GPUs that did not answer
  std::string machine;             // the content of the machine type file; empty: unreadable
  // PCI class (0x030200) of NVIDIA's functions, by sysfs address.
  std::map<std::string, int> pci_classes;
  // False if an NVIDIA function's configuration space cannot be read entirely (that needs
  // CAP_SYS_ADMIN): then nothing is known about vGPUs.
  bool config_space_readable = false;
  std::optional<gpu::VgpuHost> vgpu;  // of the first function that is a virtual GPU
  bool operator==(const Facts&) const = default;
};

// The process that asks the driver returns the facts as JSON; golden tests use it too.
Json ToJson(const Facts& facts);
// kInvalid names what is missing or of another type.
Result<Facts> FactsFromJson(const Json& json);

}  // namespace gantry::gpu_features
