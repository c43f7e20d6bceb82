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

// As /proc/modules and /sys/module have it: "nvidia_uvm".
std::string KernelName(std::string_view module);

// "nvidia-uvm.ko", "nvidia-uvm.ko.xz" -> "nvidia_uvm"; empty if it is no module's file.
std::string ModuleOfFile(std::string_view file_name);

// What is given with a module, of the text of NAME.conf: parameters (name=value, or a name alone)
// separated by spaces or lines, as one line. "#" begins a comment. kInvalid, naming the file, for
// what is neither: quotes that do not end, a control character.
Result<std::string> ModuleParameters(std::string_view file_name, std::string_view text);

struct ModuleLoad {
  std::string name;  // "nvidia_uvm"
  std::string file;
  std::string parameters;
  bool operator==(const ModuleLoad&) const = default;
};

// What is loaded, in the order of `names`. `files`: module name -> path; `parameters`: module name
// -> one line. The first of the names is needed (kNotFound, naming it); others that have no file
// are left out.
Result<std::vector<ModuleLoad>> LoadOrder(const std::vector<std::string>& names,
                                          const std::map<std::string, std::string>& files,
                                          const std::map<std::string, std::string>& parameters);

// Of the modules that are loaded now (/proc/modules: name -> the modules that use it), those that
// are to go when `names` go, in the order in which they can: each after all that use it. Modules
// that use one of them and are not of the driver are in it too: the caller decides.
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
