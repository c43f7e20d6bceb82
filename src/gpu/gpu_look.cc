// SPDX-License-Identifier: Apache-2.0
// Which GPUs does NVML report, with the properties that decide how they are offered? The one
// reading of them, so that the plugin and MPS use the same GPUs.
#include "gpu/gpu_look.h"

#include "base/text.h"
#include "container/driver_files.h"
#include "gpu/scores.h"

namespace gantry::gpu {
namespace {

Gpu WithNodes(const nvml::Device& device, const std::string& host_root) {
  Gpu gpu = gpu::FromNvml(device);
  for (const auto& mig : device.mig_devices) {
    gpu.mig_nodes.push_back(container::MigNodes(host_root, static_cast<int>(device.minor),
                                                static_cast<int>(mig.gpu_instance),
                                                static_cast<int>(mig.compute_instance)));
  }
  return gpu;
}

}  // namespace

Result<GpuSet> LookAtGpus(const nvml::Library& library, const std::string& host_root) {
  TRY_ASSIGN(const auto devices, library.Enumerate());
  GpuSet set;
  for (const auto& device : devices.found) {
    set.gpus.push_back(WithNodes(device, host_root));
  }
  set.scores = ScoresOf(library.Distances(devices.found));
  for (const auto& failed : devices.failed) {
    set.failed.push_back(
        {.index = failed.index, .uuid = failed.uuid, .reason = failed.error.message});
  }
  set.driver_version = library.DriverVersion().value_or("");
  if (const auto cuda = library.CudaVersion()) {
    set.cuda_version = format("{}.{}", *cuda / 1000, *cuda % 1000 / 10);
  }
  return set;
}

}  // namespace gantry::gpu
