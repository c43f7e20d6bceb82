// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kubelet/plugin_host.h"
#include "operands/device_plugin/allocate.h"
#include "operands/device_plugin/gpu.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// A resource as the kubelet's server takes it, with answers that are made from these values alone.
kubelet::PluginResource Offer(const Resource& resource, const GpuSet& set, const Settings& settings,
                              Beside beside);

}  // namespace gantry::device_plugin
