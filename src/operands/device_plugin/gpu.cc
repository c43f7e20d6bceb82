// SPDX-License-Identifier: Apache-2.0
// Is a GPU that a look does not find gone, or does it only not answer? NVML goes on counting a GPU
// that fell off the bus, and gives no name for it.
#include "operands/device_plugin/gpu.h"

#include <algorithm>

namespace gantry::device_plugin {

bool OnlyFailures(const GpuSet& before, const GpuSet& now) {
  if (now.failed.empty() || now.driver_version != before.driver_version ||
      now.gpus.size() + now.failed.size() != before.gpus.size()) {
    return false;
  }
  return std::ranges::all_of(before.gpus, [&now](const Gpu& gpu) {
    return std::ranges::find(now.gpus, gpu) != now.gpus.end() ||
           std::ranges::any_of(now.failed, [&gpu](const FailedGpu& failed) {
             return failed.uuid.empty() ? failed.index == gpu.index : failed.uuid == gpu.uuid;
           });
  });
}

}  // namespace gantry::device_plugin
