// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gpu/gpu_set.h"
#include "kubelet/pod_resources.h"

namespace gantry::dra_driver {

// The GPUs that a device plugin gives out, or has given out.
struct PluginGpus {
  bool all = false;             // it is not known which: all of them
  std::set<std::string> uuids;  // of GPUs

  [[nodiscard]] bool Has(const std::string& gpu) const { return all || uuids.contains(gpu); }
  bool operator==(const PluginGpus&) const = default;
};

// By what the kubelet says: `allocatable` from device plugins, and what `pods` hold. `in_capacity`:
// the Node's capacity has GPUs, as it has for five minutes after a device plugin has ended.
PluginGpus GpusOfPlugins(const std::vector<kubelet::ContainerDevices>& allocatable,
                         const std::vector<kubelet::PodResources>& pods, bool in_capacity,
                         const gpu::GpuSet& set);

}  // namespace gantry::dra_driver
