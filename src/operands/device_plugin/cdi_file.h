// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/cdi_hooks.h"
#include "gpu/gpu_set.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// The file in `cdi_dir` that describes this node's GPUs to the container runtime.
std::string CdiPath(const std::string& cdi_dir);

struct CdiWritten {
  std::vector<std::string> paths;  // those that did not exist with that content
  std::set<std::string> modes;     // "gds", ...: those with devices on this node
};

// The file in `cdi_dir` that describes the kind of a CDI device ("nvidia.com/cuda=12.4"); empty if
// it is not a CDI name.
std::string CdiPathOf(const std::string& cdi_dir, std::string_view device);

// The edits of that device in that file; nothing if there is no such file or device. kInvalid: the
// file is unreadable.
Result<container::CdiEdits> EditsOfDevice(const std::string& cdi_dir, std::string_view device);

// Writes the documents of the GPUs, of IMEX channels and of the settings' modes, each unless it
// exists with that content. `host_root` is where the host's root is mounted here (for /sys and
// /run). `with_every_gpu` is added after a GPU's own edits, without its hooks if these are not for
// the program `hook`.
Result<CdiWritten> WriteCdi(const std::string& cdi_dir, const std::string& host_root,
                            const Settings& settings, const container::HookProgram& hook,
                            const gpu::GpuSet& set, const std::vector<Unit>& units,
                            const std::vector<int>& imex_channels,
                            const container::CdiEdits& with_every_gpu);

}  // namespace gantry::device_plugin
