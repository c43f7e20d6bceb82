// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/owned_devices.h"

#include <gmock/gmock.h>

namespace gantry::dra_driver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Json Allocated(const char* driver, const char* pool, const char* device) {
  return {{"status",
           {{"allocation",
             {{"devices",
               {{"results",
                 Json::array({{{"driver", driver}, {"pool", pool}, {"device", device}}})}}}}}}}};
}

TEST(DevicesOn, AGpusMigDevicesAreItsOwners) {
  gpu::GpuSet set;
  set.gpus.resize(2);
  set.gpus[0].uuid = "GPU-a";
  set.gpus[1].uuid = "GPU-b";
  Devices devices;
  devices.devices = {{.name = "gpu-0-mig-1g10gb-19-0", .type = DeviceType::kMig, .gpu_at = 0},
                     {.name = "gpu-0-mig-1g10gb-19-1", .type = DeviceType::kMig, .gpu_at = 0},
                     {.name = "gpu-1", .gpu_at = 1}};
  EXPECT_THAT(DevicesOn({{"GPU-a", {.program = "mig-change"}}}, set, devices),
              ElementsAre("gpu-0-mig-1g10gb-19-0", "gpu-0-mig-1g10gb-19-1"));
  EXPECT_THAT(DevicesOn({{"GPU-c", {.program = "mig-change"}}}, set, devices), IsEmpty());
}

TEST(HasDevice, OnlyThisNodesDevicesOfThisDriverCount) {
  const std::set<std::string> names = {"gpu-0"};
  EXPECT_TRUE(HasDevice(Allocated("gpu.nvidia.com", "a", "gpu-0"), "a", names));
  EXPECT_FALSE(HasDevice(Allocated("gpu.nvidia.com", "b", "gpu-0"), "a", names));
  EXPECT_FALSE(HasDevice(Allocated("gpu.nvidia.com", "a", "gpu-1"), "a", names));
  EXPECT_FALSE(HasDevice(Allocated("other.example", "a", "gpu-0"), "a", names));
  EXPECT_FALSE(HasDevice(Json::object(), "a", names));
}

}  // namespace
}  // namespace gantry::dra_driver
