// SPDX-License-Identifier: Apache-2.0
// Which resources does a node offer, with which devices? From its GPUs, the settings and what is
// unhealthy. Names, ids and the socket's name are NVIDIA's (k8s-device-plugin v0.20), because pods,
// monitoring and the kubelet's checkpoint hold them.
//
// A GPU in MIG mode can't be used as a whole; upstream offers it all the same under the strategy
// `none`, and pods fail on it.
#include "operands/device_plugin/resources.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

constexpr std::string_view kReplicaMark = "::";
// Graphics cards for the screen of a DGX Station.
constexpr std::array<std::string_view, 2> kNotForCompute{"DGX Display", "NVIDIA DGX Display"};

std::string EndpointOf(std::string_view resource) {
  const auto slash = resource.find('/');
  return format("nvidia-{}.sock", resource.substr(slash + 1));
}

std::vector<kubelet::Device> DevicesOf(const Resource& resource,
                                       const std::set<std::string>& unhealthy) {
  std::vector<kubelet::Device> devices;
  devices.reserve(resource.gpus.size() * static_cast<size_t>(resource.replicas));
  for (const auto& gpu : resource.gpus) {
    kubelet::Device device{
        .id = gpu.uuid, .healthy = !unhealthy.contains(gpu.uuid), .numa_nodes = {}};
    if (gpu.numa_node >= 0) {
      device.numa_nodes.push_back(gpu.numa_node);
    }
    if (resource.replicas == 1) {
      devices.push_back(device);
      continue;
    }
    for (int n = 0; n < resource.replicas; ++n) {
      device.id = format("{}{}{}", gpu.uuid, kReplicaMark, n);
      devices.push_back(device);
    }
  }
  return devices;
}

}  // namespace

Resources OfferedResources(const std::vector<Gpu>& gpus, const Settings& settings,
                           const std::set<std::string>& unhealthy) {
  Resources offered;
  Resource whole{.name = settings.sharing.OfferedName(names::kGpuResource),
                 .endpoint = {},
                 .replicas = settings.sharing.ReplicasOf(names::kGpuResource),
                 .gpus = {},
                 .devices = {}};
  whole.endpoint = EndpointOf(whole.name);
  for (const auto& gpu : gpus) {
    if (std::ranges::find(kNotForCompute, gpu.name) != kNotForCompute.end()) {
      offered.left_out.push_back(format("GPU {} ({}): drives a display", gpu.index, gpu.name));
    } else if (gpu.mig_enabled) {
      offered.left_out.push_back(
          format("GPU {} ({}): is in MIG mode; MIG devices are not served", gpu.index, gpu.uuid));
    } else {
      whole.gpus.push_back(gpu);
    }
  }
  whole.devices = DevicesOf(whole, unhealthy);
  if (!whole.gpus.empty()) {
    offered.resources.push_back(std::move(whole));
  }
  return offered;
}

std::string_view UuidOf(std::string_view device_id) {
  return device_id.substr(0, device_id.find(kReplicaMark));
}

bool IsReplica(std::string_view device_id) {
  return device_id.find(kReplicaMark) != std::string_view::npos;
}

}  // namespace gantry::device_plugin
