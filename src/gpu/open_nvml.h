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
  // libnvidia-ml.so.1 is searched for below it; empty: the loader finds it.
  std::filesystem::path driver_root = {};
  // If it is not below the root, the loader finds it, instead of an error.
  bool or_by_loader = false;
  // The library itself, if known; driver_root does not count then.
  std::filesystem::path library = {};
  // The root whose dev/ replaces this container's, as nvml::EnterDevRoot does; that changes the
  // process, so it should end soon. Empty: no change.
  std::string dev_root = {};
  // The node's sysfs.
  std::string sys = "/sys";
};

// Opens NVML. kNotFound: no library; else the errors of nvml::Library::Open. May hang, as NVML may.
Result<std::unique_ptr<nvml::Library>> OpenNvml(const NvmlPlace& place);

}  // namespace gantry::gpu
