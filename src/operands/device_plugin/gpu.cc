// SPDX-License-Identifier: Apache-2.0
// What does a look at the GPUs say beside what NVML's calls return? The device nodes of MIG
// devices, from the kernel module's table; and whether a GPU that is missing is gone or only does
// not answer: NVML goes on counting a GPU that fell off the bus, and gives no name for it.
#include "operands/device_plugin/gpu.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::device_plugin {

MigMinors ParseMigMinors(std::string_view text) {
  MigMinors minors;
  for (const auto& line : Split(text, '\n')) {
    const auto blank = line.find(' ');
    if (blank == std::string::npos) {
      continue;
    }
    if (const auto minor = ParseInt(Trim(line.substr(blank))); minor && *minor >= 0) {
      minors[line.substr(0, blank)] = static_cast<unsigned>(*minor);
    }
  }
  return minors;
}

std::vector<std::string> MigNodes(const MigMinors& minors, unsigned gpu_minor,
                                  const nvml::MigDevice& mig) {
  const auto instance = format("gpu{}/gi{}", gpu_minor, mig.gpu_instance);
  std::vector<std::string> nodes;
  for (const auto& capability :
       {instance + "/access", format("{}/ci{}/access", instance, mig.compute_instance)}) {
    const auto minor = minors.find(capability);
    if (minor == minors.end()) {
      return {};
    }
    nodes.push_back(format("/dev/nvidia-caps/nvidia-cap{}", minor->second));
  }
  return nodes;
}

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
