// SPDX-License-Identifier: Apache-2.0
// Which processes and pods keep the driver from being unloaded? Those with an open descriptor of
// it. Mappings need no check: programs with CUDA or NVML keep the descriptor of a mapping open.
#include "operands/driver/holders.h"

#include <algorithm>

#include "base/text.h"
#include "host/pods_of_node.h"

namespace gantry::driver {
namespace {

constexpr std::string_view kDevice = "/dev/nvidia";
constexpr size_t kNamedHolders = 5;

}  // namespace

std::vector<Holder> HoldersAmong(const std::vector<ProcessText>& processes) {
  std::vector<Holder> holders;
  for (const ProcessText& process : processes) {
    // A driver container has the nodes in its own root's /dev: ".../dev/nvidia0".
    const auto device = std::ranges::find_if(process.descriptors, [](const std::string& target) {
      return target.find(kDevice) != std::string::npos;
    });
    if (device != process.descriptors.end()) {
      holders.push_back({.pid = process.pid,
                         .name = std::string(Trim(process.name)),
                         .device = device->substr(device->find(kDevice)),
                         .pod_uid = host::PodUidOf(process.cgroup)});
    }
  }
  std::ranges::sort(holders, {}, &Holder::pid);
  return holders;
}

std::string Describe(const std::vector<Holder>& holders, const std::vector<PodName>& pod_names) {
  std::vector<std::string> parts;
  for (const Holder& holder : holders) {
    if (parts.size() == kNamedHolders) {
      parts.push_back(format("and {} more", holders.size() - kNamedHolders));
      break;
    }
    std::string pod;
    if (!holder.pod_uid.empty()) {
      const auto named = std::ranges::find(pod_names, holder.pod_uid, &PodName::uid);
      pod = format(", pod {}", named == pod_names.end() ? holder.pod_uid : named->name);
    }
    parts.push_back(format("process {} ({}, {}{})", holder.pid, holder.name, holder.device, pod));
  }
  return Join(parts, ", ");
}

}  // namespace gantry::driver
