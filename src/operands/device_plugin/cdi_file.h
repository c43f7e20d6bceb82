// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "operands/device_plugin/gpu.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// The file in `cdi_dir` that describes this node's GPUs to the container runtime.
std::string CdiPath(const std::string& cdi_dir);

// Writes it unless it is there with that content; true if it was written. `host_root` is where the
// host's root is mounted here (/sys and /run are looked up there); `disabled_hooks` are NVIDIA's
// names.
Result<bool> WriteCdi(const std::string& cdi_dir, const std::string& host_root,
                      const Settings& settings, const GpuSet& set, const std::vector<Gpu>& gpus,
                      const std::vector<std::string>& disabled_hooks);

}  // namespace gantry::device_plugin
