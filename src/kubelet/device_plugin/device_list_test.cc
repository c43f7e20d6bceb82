// SPDX-License-Identifier: Apache-2.0
// The bytes that are counted here are those of protobuf.
#include "kubelet/device_plugin/device_list.h"

#include <gtest/gtest.h>

#include "device_plugin_v1beta1.pb.h"

namespace gantry::kubelet {
namespace {

TEST(DeviceList, HasTheLengthOfTheMessage) {
  std::vector<Device> devices;
  v1beta1::ListAndWatchResponse message;
  for (const size_t length : {size_t{1}, size_t{40}, size_t{63}, size_t{130}}) {
    for (const int numa : {-1, 0, 1, 127, 128}) {
      Device& device = devices.emplace_back();
      device.id = std::string(length, 'x');
      auto& out = *message.add_devices();
      out.set_id(device.id);
      out.set_health("Unhealthy");
      if (numa >= 0) {
        device.numa_nodes = {numa};
        out.mutable_topology()->add_nodes()->set_id(numa);
      }
      EXPECT_EQ(BytesInDeviceList(devices), message.ByteSizeLong()) << length << " " << numa;
    }
  }
}

}  // namespace
}  // namespace gantry::kubelet
