// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/for_containers.h"
#include "gpu/gpu_set.h"
#include "gpu/owners.h"
#include "kubelet/device_plugin/device_plugin.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

using gpu::Unit;  // the unit of a device id

// One resource and its devices, as reported to the kubelet.
struct Resource {
  std::string name;      // "nvidia.com/gpu", "nvidia.com/gpu.shared"
  std::string endpoint;  // "nvidia-gpu.sock"
  std::vector<Unit> units;
  std::vector<kubelet::Device> devices;  // "<uuid>", or "<uuid>::<n>" for each share
  // UUIDs of GPUs that another program has, and for what: their units are no devices now.
  std::map<std::string, std::string> withdrawn = {};
  bool operator==(const Resource&) const = default;

  // The unit of a device id; nullptr: not of this resource.
  [[nodiscard]] const Unit* UnitOf(std::string_view device_id) const;
  [[nodiscard]] bool has_shares() const;
};

struct Resources {
  std::vector<Resource> resources;    // by name
  std::vector<std::string> left_out;  // a sentence for each thing that is not offered
  bool operator==(const Resources&) const = default;
};

// `unhealthy` holds UUIDs of GPUs and MIG devices. A resource stays, without devices, if `owners`
// have all its GPUs: they come back, and the kubelet keeps its registration.
Resources OfferedResources(const gpu::GpuSet& set, const Settings& settings,
                           const std::set<std::string>& unhealthy, const gpu::Owners& owners = {});

}  // namespace gantry::device_plugin
