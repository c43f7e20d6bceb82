// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "gpu/gpu_set.h"
#include "nvml/nvml.h"

namespace gantry::gpu {

// NVML of a driver root as seen here, or of the loader's path if there is none below it.
// `host_root` is the folder that holds the node's sys/ and proc/. May hang, as NVML may.
Result<std::unique_ptr<nvml::Library>> OpenNvml(const std::filesystem::path& driver_root,
                                                const std::string& host_root);
Result<GpuSet> LookAtGpus(const nvml::Library& library, const std::string& host_root);

}  // namespace gantry::gpu
