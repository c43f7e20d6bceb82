// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/nvidia_cdi.h"

// The GPUs of a node as the kernel module reports them, for programs that must not load NVML.
namespace gantry::gpu {

struct ProcGpu {
  container::CdiGpu gpu;
  std::string product;  // "Tesla T4"; empty: the module does not report it
};

// From the text of /proc/driver/nvidia/gpus/<PCI address>/information; nullopt if it has no minor
// number. The UUID is empty while no process has the GPU open: the module then prints question
// marks.
std::optional<ProcGpu> ParseGpuInformation(std::string_view text);

// All of them below `root` ("/", "/host"), numbered in the order of their PCI addresses, as in
// NVML. A GPU with GPU instances counts as in MIG mode, without its MIG devices.
std::vector<container::CdiGpu> GpusFromProc(const std::string& root);
// Those of them that containers get, with the same numbers.
std::vector<container::CdiGpu> GpusForContainersFromProc(const std::string& root);

// "535.247.01" from <root>/proc/driver/nvidia/version; empty if no module is loaded.
std::string LoadedDriverVersion(const std::string& root);

}  // namespace gantry::gpu
