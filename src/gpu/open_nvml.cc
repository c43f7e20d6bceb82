// SPDX-License-Identifier: Apache-2.0
// Where is the NVML of this node's driver? One answer for all callers, so that they use one driver.
#include "gpu/open_nvml.h"

#include "nvml/dev_root.h"

namespace gantry::gpu {
namespace {

Result<std::filesystem::path> FindNvml(const NvmlPlace& place) {
  if (!place.library.empty()) {
    return place.library;
  }
  const std::filesystem::path by_loader = "libnvidia-ml.so.1";
  if (place.driver_root.empty()) {
    return by_loader;
  }
  auto found = nvml::FindLibrary(place.driver_root);
  // A container that has the driver's libraries on the loader's path needs no driver root.
  return found || !place.or_by_loader ? found : by_loader;
}

}  // namespace

Result<std::unique_ptr<nvml::Library>> OpenNvml(const NvmlPlace& place) {
  nvml::EnterDevRoot(place.dev_root);
  TRY_ASSIGN(const std::filesystem::path library, FindNvml(place));
  return nvml::Library::Open({.library = library, .sys = place.sys});
}

}  // namespace gantry::gpu
