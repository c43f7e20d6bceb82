// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "nvml/nvml.h"

namespace gantry::gpu {

// Where a driver is, as this process sees it.
struct NvmlPlace {
  // libnvidia-ml.so.1 is looked for below it; empty: the loader finds it.
  std::filesystem::path driver_root = {};
  // Instead of an error the loader finds it too if it is not below the root.
  bool or_by_loader = false;
  // The library itself, where it is known; driver_root does not count then.
  std::filesystem::path library = {};
  // Holds the dev/ to use instead of this container's, as nvml::EnterDevRoot, which changes this
  // process: for one that ends soon. Empty: /dev as it is.
  std::string dev_root = {};
  // The node's sysfs.
  std::string sys = "/sys";
};

// Opens NVML. kNotFound: no library, or as nvml::Library::Open fails. May hang, as NVML may.
Result<std::unique_ptr<nvml::Library>> OpenNvml(const NvmlPlace& place);

}  // namespace gantry::gpu
