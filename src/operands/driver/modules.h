// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Which kernel modules are loaded, in which order and with which parameters? Names are compared as
// the kernel does: nvidia-uvm and nvidia_uvm are one.
namespace gantry::driver {

inline constexpr char kPeermem[] = "nvidia-peermem";

// As in /proc/modules and /sys/module: "nvidia_uvm".
std::string KernelName(std::string_view module);

// "nvidia-uvm.ko", "nvidia-uvm.ko.xz" -> "nvidia_uvm"; empty if it is not a module file.
std::string ModuleOfFile(std::string_view file_name);

// The module parameters in the text of NAME.conf (name=value, or a name alone), separated by spaces
// or lines, as one line. "#" begins a comment. kInvalid, naming the file: unterminated quotes, a
// control character.
Result<std::string> ModuleParameters(std::string_view file_name, std::string_view text);

struct ModuleLoad {
  std::string name;  // "nvidia_uvm"
  std::string file;
  std::string parameters;
  bool operator==(const ModuleLoad&) const = default;
};

// The modules to load, in the order of `names`. `files`: module name -> path; `parameters`: module
// name -> one line. The first name is required (kNotFound, naming it); others without a file are
// left out.
Result<std::vector<ModuleLoad>> LoadOrder(const std::vector<std::string>& names,
                                          const std::map<std::string, std::string>& files,
                                          const std::map<std::string, std::string>& parameters);

// The loaded modules (/proc/modules: name -> the modules that use it) to unload with `names`, in
// order: each after all its users. Includes users that are not of the driver: the caller decides.
std::vector<std::string> UnloadOrder(const std::vector<std::string>& names,
                                     std::string_view proc_modules);

// The driver's modules and those that NVIDIA's other containers load on top of it, in the order of
// loading.
inline constexpr std::array<std::string_view, 8> kDriverModules = {
    "nvidia",         "nvidia_uvm",       "nvidia_modeset", "nvidia_drm",
    "nvidia_peermem", "nvidia_vgpu_vfio", "gdrdrv",         "nvidia_fs"};

// Whether the driver searches for its firmware (NVreg_EnableGpuFirmware is not 0).
bool WantsFirmware(std::string_view parameters);

}  // namespace gantry::driver
