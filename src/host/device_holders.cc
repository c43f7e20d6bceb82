// SPDX-License-Identifier: Apache-2.0
// Which processes and pods keep a device from its driver, or the driver from being unloaded? Those
// with an open descriptor of it. Mappings need no check: programs with CUDA or NVML keep the
// descriptor of a mapping open.
#include "host/device_holders.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "host/pods_of_node.h"

namespace gantry::host {
namespace {

constexpr std::string_view kDevice = "/dev/nvidia";
constexpr size_t kNamedHolders = 5;

}  // namespace

std::string NvidiaDeviceOf(const std::string& target) {
  // A driver container has the nodes in its own root's /dev: ".../dev/nvidia0".
  const size_t at = target.find(kDevice);
  return at == std::string::npos ? "" : target.substr(at);
}

std::vector<Holder> HoldersAmong(const std::vector<ProcessText>& processes,
                                 const DeviceOf& device_of) {
  std::vector<Holder> holders;
  for (const ProcessText& process : processes) {
    for (const std::string& target : process.descriptors) {
      if (std::string device = device_of(target); !device.empty()) {
        holders.push_back({.pid = process.pid,
                           .name = std::string(Trim(process.name)),
                           .device = std::move(device),
                           .pod_uid = PodUidOf(process.cgroup)});
        break;
      }
    }
  }
  std::ranges::sort(holders, {}, &Holder::pid);
  return holders;
}

std::string DescribeHolders(const std::vector<Holder>& holders,
                            const std::vector<PodName>& pod_names) {
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

}  // namespace gantry::host
