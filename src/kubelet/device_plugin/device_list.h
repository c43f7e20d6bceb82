// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "kubelet/device_plugin/device_plugin.h"

// How long may a device list of ListAndWatch be? The kubelet's gRPC accepts messages of 4 MiB and
// ends the stream at a longer one; then the node has no device of that resource.
namespace gantry::kubelet {

inline constexpr size_t kLongestDeviceList = size_t{4} << 20;

// The bytes of one device in the list, by protobuf's encoding. Counted with "Unhealthy", the longer
// of the two states, so that a list that fits keeps fitting. `numa_node`: -1: none.
constexpr size_t BytesInDeviceList(size_t id_length, int numa_node) {
  const auto varint = [](size_t value) {
    size_t bytes = 1;
    for (; value > 0x7F; value >>= 7U) {
      ++bytes;
    }
    return bytes;
  };
  const auto field = [varint](size_t length) { return 1 + varint(length) + length; };
  constexpr size_t kUnhealthy = 9;
  size_t device = field(id_length) + field(kUnhealthy);
  if (numa_node >= 0) {
    const size_t node = numa_node == 0 ? 0 : 1 + varint(static_cast<size_t>(numa_node));
    device += field(field(node));
  }
  return field(device);
}

inline size_t BytesInDeviceList(const std::vector<Device>& devices) {
  size_t bytes = 0;
  for (const Device& device : devices) {
    const int numa = device.numa_nodes.empty() ? -1 : static_cast<int>(device.numa_nodes.front());
    bytes += BytesInDeviceList(device.id.size(), numa);
  }
  return bytes;
}

}  // namespace gantry::kubelet
