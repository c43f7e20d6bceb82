// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "gpu/gpu_set.h"
#include "kubelet/device_plugin/plugin_host.h"
#include "operands/device_plugin/allocate.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// When a container was given devices last; any thread may ask.
class LastAllocate {
 public:
  void Note(SteadyTime now) { at_ = now.time_since_epoch().count(); }
  [[nodiscard]] SteadyTime at() const { return SteadyTime(SteadyTime::duration(at_)); }

 private:
  std::atomic<SteadyTime::rep> at_{0};
};

// A resource for the kubelet's server; it answers from these values and from the control device
// nodes that exist at the call. Each Allocate is noted in `last` as it begins.
kubelet::PluginResource Offer(const Resource& resource, const gpu::GpuSet& set,
                              const Settings& settings, Beside beside,
                              std::shared_ptr<LastAllocate> last);

// Gives served devices the health that their GPUs and MIG devices have `now`, under any resource;
// devices no longer offered are unhealthy.
void TakeHealth(const std::vector<Resource>& now, std::vector<kubelet::PluginResource>& served);

}  // namespace gantry::device_plugin
