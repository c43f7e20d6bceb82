// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gantry::gpu {

// The hypervisor's driver, as reported in the PCI configuration space of a virtual GPU.
struct VgpuHost {
  std::string driver_version;  // "460.16"
  std::string driver_branch;   // "r460_00"
  bool operator==(const VgpuHost&) const = default;
};

// Without CAP_SYS_ADMIN, sysfs shows only the first 64 bytes of it.
inline constexpr size_t kConfigSpaceSize = 256;

// The vGPU capability in the first 256 bytes (or more) of a function's PCI configuration space:
// nothing for a physical GPU, or if the space is shorter or malformed.
std::optional<VgpuHost> FindVgpuHost(std::string_view config_space);

}  // namespace gantry::gpu
