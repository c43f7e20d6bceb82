// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gpu/gpu.h"
#include "gpu/gpu_set.h"

namespace gantry::metrics_exporter {

// Which GPUs and GPU instances have series: dcgm-exporter's --devices. An id of a GPU is NVML's
// index. One of a GPU instance is DCGM's: 8 times its GPU's index, and its place there.
struct DeviceSelector {
  struct Range {
    unsigned first;
    unsigned last;
    bool operator==(const Range&) const = default;
  };
  using Ids = std::vector<Range>;  // empty: all

  std::optional<Ids> gpus = Ids();  // GPUs as a whole; nullopt: none
  std::optional<Ids> instances = Ids();
  bool operator==(const DeviceSelector&) const = default;
};

// "f" (all GPUs, and the instances of those that are divided), "g", "i", "g:0,2-3", "i:0-6",
// "g:0+i:8". kInvalid names the part.
Result<DeviceSelector> ParseDevices(std::string_view text);

// A GPU with the MIG devices that are selected. If only the GPU is, it is taken as not divided.
struct Selected {
  gpu::Gpu gpu;
  bool own_series = true;  // besides those of its instances
};
// nullopt: nothing of it is selected.
std::optional<Selected> Select(const DeviceSelector& selector, const gpu::Gpu& gpu);

// DCGM's id of a GPU instance of this GPU.
unsigned InstanceId(const gpu::Gpu& gpu, unsigned gpu_instance);

// kInvalid: the first id that is selected and does not exist.
Status CheckPresent(const DeviceSelector& selector, const gpu::GpuSet& set);

}  // namespace gantry::metrics_exporter
