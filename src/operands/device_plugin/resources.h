// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/device_plugin.h"
#include "operands/device_plugin/gpu.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// One resource and its devices, as the kubelet is told.
struct Resource {
  std::string name;      // "nvidia.com/gpu", "nvidia.com/gpu.shared"
  std::string endpoint;  // "nvidia-gpu.sock"
  int replicas = 1;      // of each GPU
  std::vector<Gpu> gpus;
  std::vector<kubelet::Device> devices;
  bool operator==(const Resource&) const = default;
};

struct Resources {
  std::vector<Resource> resources;
  std::vector<std::string> left_out;  // a sentence for each GPU that is not offered
  bool operator==(const Resources&) const = default;
};

// A shared GPU stands in the list once for each replica, "<uuid>::<n>". `unhealthy` holds UUIDs.
Resources OfferedResources(const std::vector<Gpu>& gpus, const Settings& settings,
                           const std::set<std::string>& unhealthy);

// "GPU-...::3" -> "GPU-...".
std::string_view UuidOf(std::string_view device_id);
bool IsReplica(std::string_view device_id);

}  // namespace gantry::device_plugin
