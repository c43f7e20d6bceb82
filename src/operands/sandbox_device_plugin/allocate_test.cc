// SPDX-License-Identifier: Apache-2.0
#include "operands/sandbox_device_plugin/allocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operands/sandbox_device_plugin/preferred.h"

namespace gantry::sandbox_device_plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const Resource kT4 = {
    .name = "nvidia.com/TU104GL_TESLA_T4",
    .mediated = false,
    .devices = {{.id = "0000:3b:00.0", .group = 57, .numa_node = 0},
                {.id = "0000:5e:00.0", .group = 61, .numa_node = 1},
                {.id = "0000:5f:00.0", .group = 62, .numa_node = 1},
                {.id = "0000:60:00.0", .group = 63, .fault = "it is bound to x"}}};

std::vector<std::string> PathsOf(const kubelet::Allocation& allocation) {
  std::vector<std::string> paths;
  for (const kubelet::DeviceSpec& device : allocation.devices) {
    EXPECT_EQ(device.host_path, device.container_path);
    EXPECT_EQ(device.permissions, "mrw");
    paths.push_back(device.host_path);
  }
  return paths;
}

TEST(AllocateTest, HasTheGroupsAndTheVariable) {
  const auto allocation = Allocate(kT4, {}, {"0000:5e:00.0", "0000:3b:00.0"});
  ASSERT_TRUE(allocation.has_value());
  EXPECT_THAT(PathsOf(*allocation), ElementsAre("/dev/vfio/vfio", "/dev/vfio/57", "/dev/vfio/61"));
  EXPECT_THAT(allocation->envs, ElementsAre(Pair("PCI_RESOURCE_NVIDIA_COM_TU104GL_TESLA_T4",
                                                 "0000:5e:00.0,0000:3b:00.0")));
}

TEST(AllocateTest, WithIommufdAlsoItsNodes) {
  const DeviceNodes nodes{.iommufd = true,
                          .of_groups = {{57, {"vfio0", "vfio1"}}},
                          .extended_memory = {{"/dev/egm4", {"0000:3b:00.0"}},
                                              {"/dev/egm5", {"0000:3b:00.0", "0000:5e:00.0"}}}};
  const auto allocation = Allocate(kT4, nodes, {"0000:3b:00.0"});
  ASSERT_TRUE(allocation.has_value());
  EXPECT_THAT(PathsOf(*allocation),
              ElementsAre("/dev/vfio/vfio", "/dev/vfio/57", "/dev/vfio/devices/vfio0",
                          "/dev/vfio/devices/vfio1", "/dev/iommu", "/dev/egm4"));
  EXPECT_FALSE(Allocate(kT4, nodes, {"0000:5e:00.0"}).has_value());
}

TEST(AllocateTest, AMediatedDeviceHasItsGroupOnly) {
  const Resource types = {.name = "nvidia.com/NVIDIA_A10-4Q",
                          .mediated = true,
                          .devices = {{.id = "u-1", .group = 200}}};
  const auto allocation = Allocate(types, {.iommufd = true}, {"u-1"});
  ASSERT_TRUE(allocation.has_value());
  EXPECT_THAT(PathsOf(*allocation), ElementsAre("/dev/vfio/vfio", "/dev/vfio/200"));
  EXPECT_THAT(allocation->envs,
              ElementsAre(Pair("MDEV_PCI_RESOURCE_NVIDIA_COM_NVIDIA_A10-4Q", "u-1")));
}

TEST(AllocateTest, UnknownAndFaultyDevicesAreRefused) {
  EXPECT_THAT(Allocate(kT4, {}, {"0000:99:00.0"}).error().message,
              HasSubstr("unknown device: 0000:99:00.0"));
  EXPECT_THAT(Allocate(kT4, {}, {"0000:60:00.0"}).error().message, HasSubstr("it is bound to x"));
}

TEST(PreferTest, TakesOneNumaNode) {
  const std::vector<std::string> all = {"0000:3b:00.0", "0000:5e:00.0", "0000:5f:00.0"};
  EXPECT_THAT(*Prefer(kT4, {.available = all, .required = {}, .size = 2}),
              ElementsAre("0000:5e:00.0", "0000:5f:00.0"));
  EXPECT_THAT(*Prefer(kT4, {.available = all, .required = {"0000:5f:00.0"}, .size = 2}),
              ElementsAre("0000:5f:00.0", "0000:5e:00.0"));
  EXPECT_THAT(*Prefer(kT4, {.available = all, .required = {}, .size = 3}),
              ElementsAre("0000:3b:00.0", "0000:5e:00.0", "0000:5f:00.0"));
  EXPECT_FALSE(Prefer(kT4, {.available = all, .required = all, .size = 1}).has_value());
}

}  // namespace
}  // namespace gantry::sandbox_device_plugin
