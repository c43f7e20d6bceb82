// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::host {

struct KernelModule {
  std::string name;
  int users = 0;
  bool live = false;  // false while it is loading or unloading
  bool operator==(const KernelModule&) const = default;
};

// The lines of /proc/modules (proc(5)); lines of another shape are left out.
std::vector<KernelModule> ParseModules(std::string_view text);

// The modules loaded now; `proc` is where procfs is mounted ("/proc", "/host/proc").
Result<std::vector<KernelModule>> LoadedModules(const std::string& proc);

// The version in the text of /proc/driver/nvidia/version, for the proprietary and for the open
// kernel module ("535.247.01"); empty if there is none.
std::string ParseDriverVersion(std::string_view text);

// "Device Minor" in the text of /proc/driver/nvidia/gpus/<address>/information; nullopt if there is
// none, or if the driver excludes that GPU ("GPU Excluded: Yes").
std::optional<int> ParseGpuMinor(std::string_view text);

// Minors of the GPUs that the driver drives and does not exclude, sorted, as
// <proc>/driver/nvidia/gpus shows them; none without the driver.
std::vector<int> DrivenGpus(const std::string& proc);

// Major number of a character device driver in the text of /proc/devices; -1 if it is not listed.
int CharacterMajor(std::string_view proc_devices, std::string_view driver);

}  // namespace gantry::host
