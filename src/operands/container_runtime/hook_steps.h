// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operands/container_runtime/container_root.h"

// The hook's steps, and whether a container can start without each.
namespace gantry::container_runtime {

enum class HookStep {
  kDriverLinks,    // names of the driver's libraries
  kGraphicsLinks,  // the same for graphics libraries
  kDeviceLinks,    // /dev/dri/by-path
  kCudaLinks,      // /usr/local/cuda
  kModes,          // chmod
  kFolderLinks,    // SONAMEs in a folder of update-ldcache
  kLinkerFolders,  // /etc/ld.so.conf, /etc/ld.so.conf.d
  kMuslFolders,    // /etc/ld-musl-*.path
  kLinkerCache,    // /etc/ld.so.cache
  kDeviceFiles,    // ModifyDeviceFiles: 0
  kProfile,        // EGL's application profile
};

struct HookStepRule {
  HookStep step;
  bool necessary;            // else a failure is a line on standard error, and the start continues
  std::string_view without;  // what the container then lacks
};

// The driver's files are mounts and its devices are nodes in the configuration, without which runc
// starts no container; the hook adds the names under which programs load these files.
inline constexpr std::array kHookSteps = {
    HookStepRule{HookStep::kDriverLinks, true, "links to the driver's libraries"},
    HookStepRule{HookStep::kGraphicsLinks, false, "links for graphics"},
    HookStepRule{HookStep::kDeviceLinks, false, "links to GPUs by their PCI addresses"},
    HookStepRule{HookStep::kCudaLinks, false, "links to the node's CUDA toolkit"},
    HookStepRule{HookStep::kModes, false, "the modes that were asked for"},
    HookStepRule{HookStep::kFolderLinks, false, "links from SONAMEs to libraries"},
    HookStepRule{HookStep::kLinkerFolders, false, "a list of the driver's folders for ldconfig"},
    HookStepRule{HookStep::kMuslFolders, false, "a list of the driver's folders for musl"},
    HookStepRule{HookStep::kLinkerCache, false, "the driver's libraries in the linker's cache"},
    HookStepRule{HookStep::kDeviceFiles, false, "the switch against device nodes of other GPUs"},
    HookStepRule{HookStep::kProfile, false, "the profile that hides other GPUs from EGL"},
};

// The result of a start after a step: the step's error if it was necessary; else success, with a
// failure as a line in `warnings`.
Status Settle(HookStep step, const Status& done, std::vector<std::string>& warnings);

// The step of a link to a driver file, by the capabilities of that file.
HookStep StepOf(const SymbolicLink& link);

}  // namespace gantry::container_runtime
