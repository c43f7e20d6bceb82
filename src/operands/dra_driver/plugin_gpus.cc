// SPDX-License-Identifier: Apache-2.0
// Which GPUs must not be in a slice, because a device plugin gives them out? One that the kubelet
// names, and every GPU if it names some that can't be recognized.
#include "operands/dra_driver/plugin_gpus.h"

#include <algorithm>

#include "gpu/pod_gpus.h"
#include "policy/names.h"

namespace gantry::dra_driver {

PluginGpus GpusOfPlugins(const std::vector<kubelet::ContainerDevices>& allocatable,
                         const std::vector<kubelet::PodResources>& pods, bool in_capacity,
                         const gpu::GpuSet& set) {
  std::vector<kubelet::PodResources> all = pods;
  all.push_back({.ns = {}, .name = {}, .containers = {{.name = {}, .devices = allocatable}}});
  PluginGpus gpus;
  for (const auto& [part, holders] : gpu::HoldersOf(all, set.gpus, {})) {
    gpus.uuids.insert(part.uuid);
  }
  const bool offers = in_capacity || std::ranges::any_of(allocatable, [](const auto& one) {
                        return names::IsGpuResource(one.resource) && !one.ids.empty();
                      });
  gpus.all = offers && gpus.uuids.empty();
  return gpus;
}

}  // namespace gantry::dra_driver
