// SPDX-License-Identifier: Apache-2.0
// Control devices by /proc/devices.
#include "operands/container_toolkit/device_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container_toolkit {
namespace {

using testing::IsEmpty;

TEST(ControlDevices, OfADriverThatIsLoaded) {
  std::string found;
  for (const ControlDevice& device :
       ControlDevices("Character devices:\n  1 mem\n195 nvidia\n195 nvidia-modeset\n195 nvidiactl\n"
                      "235 nvidia-caps\n510 nvidia-uvm\n\nBlock devices:\n  7 loop\n")) {
    found +=
        device.name + "=" + std::to_string(device.major) + ":" + std::to_string(device.minor) + " ";
  }
  EXPECT_EQ(found,
            "nvidiactl=195:255 nvidia-modeset=195:254 nvidia-uvm=510:0 nvidia-uvm-tools=510:1 ");
}

TEST(ControlDevices, OfAnOlderDriver) {
  EXPECT_EQ(ControlDevices("195 nvidia-frontend\n").size(), 2U);
}

TEST(ControlDevices, OfNoDriver) {
  EXPECT_THAT(ControlDevices("Character devices:\n  1 mem\n"), IsEmpty());
  EXPECT_THAT(ControlDevices(""), IsEmpty());
}

}  // namespace
}  // namespace gantry::container_toolkit
