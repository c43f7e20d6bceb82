// SPDX-License-Identifier: Apache-2.0
// Which GPUs containers get. MIG strategies and sharing are tested where they are offered, in
// operands/device_plugin/resources_test.cc; here stand the limits.
#include "gpu/for_containers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "gpu/device_id.h"
#include "gpu/products.h"
#include "kubelet/device_plugin/device_list.h"

namespace gantry::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kNone = policy::MigStrategy::kNone;

std::vector<Gpu> PlainGpus(unsigned count, int numa_node = -1) {
  std::vector<Gpu> gpus;
  for (unsigned i = 0; i < count; ++i) {
    Gpu& gpu = gpus.emplace_back();
    gpu.index = i;
    gpu.uuid = format("GPU-00000000-0000-0000-0000-{:012}", i);
    gpu.name = "Tesla T4";
    gpu.numa_node = numa_node;
  }
  return gpus;
}

policy::Sharing TimeSlicing(std::vector<policy::SharedResource> resources) {
  policy::Sharing sharing;
  sharing.strategy = policy::SharingStrategy::kTimeSlicing;
  sharing.resources = std::move(resources);
  return sharing;
}

// The kubelet's list of these units.
size_t Bytes(const OfferedUnits& offered) {
  std::vector<kubelet::Device> devices;
  for (const Unit& unit : offered.units) {
    kubelet::Device device;
    device.numa_nodes.assign(unit.numa_node < 0 ? 0 : 1, unit.numa_node);
    device.id = unit.uuid;
    for (int n = 0; n < unit.replicas; ++n) {
      device.id = unit.replicas == 1 ? unit.uuid : ShareId(unit.uuid, n);
      devices.push_back(device);
    }
  }
  return kubelet::BytesInDeviceList(devices);
}

TEST(ForContainers, Kdp731_ADisplayIsNone) {
  EXPECT_FALSE(IsForContainers("DGX Display"));
  EXPECT_FALSE(IsForContainers("NVIDIA DGX Display"));
  EXPECT_TRUE(IsForContainers("NVIDIA DGX Display Adapter"));
  EXPECT_TRUE(IsForContainers(""));
  auto gpus = PlainGpus(3);
  gpus[1].name = "NVIDIA DGX Display";
  const auto found = GpusForContainers(gpus, kNone, {});
  ASSERT_THAT(found.offered, SizeIs(1));
  ASSERT_THAT(found.offered[0].units, SizeIs(2));
  EXPECT_EQ(found.offered[0].units[1].gpu_at, 2U);
  EXPECT_THAT(found.left_out, ElementsAre(HasSubstr("GPU 1 (NVIDIA DGX Display)")));
}

// kdp#1433: 8 x 16384 made a list of 7.8 MB, and the node had no GPU at all.
TEST(ForContainers, Kdp1433_NoMoreReplicasThanTheKubeletsListHoldsAreOffered) {
  for (const int numa_node : {-1, 0, 1}) {
    const auto found =
        GpusForContainers(PlainGpus(8, numa_node), kNone,
                          TimeSlicing({{.name = "nvidia.com/other", .replicas = 2},
                                       {.name = "nvidia.com/gpu", .replicas = 16384}}));
    ASSERT_THAT(found.offered, SizeIs(1));
    OfferedUnits offered = found.offered[0];
    const int fits = offered.units[0].replicas;
    EXPECT_LE(Bytes(offered), kubelet::kLongestDeviceList);
    for (Unit& unit : offered.units) {
      EXPECT_EQ(unit.replicas, fits);
      ++unit.replicas;
    }
    EXPECT_GT(Bytes(offered), kubelet::kLongestDeviceList) << "one more would not fit";
    ASSERT_THAT(found.left_out, SizeIs(1));
    EXPECT_THAT(found.left_out[0],
                testing::AllOf(HasSubstr("sharing.timeSlicing.resources[1].replicas: 16384"),
                               HasSubstr(format("offered {} times", fits))));
  }
}

TEST(ForContainers, WhatFitsIsOfferedAsItIsAsked) {
  const auto found = GpusForContainers(PlainGpus(8), kNone,
                                       TimeSlicing({{.name = "nvidia.com/gpu", .replicas = 7000}}));
  EXPECT_EQ(found.offered.at(0).units[7].replicas, 7000);
  EXPECT_THAT(found.left_out, IsEmpty());
}

// Of GPUs that are shared differently, the most shared lose first.
TEST(ForContainers, ATooLongListLosesTheSharesOfTheMostShared) {
  const auto found = GpusForContainers(
      PlainGpus(2), kNone,
      TimeSlicing(
          {{.name = "nvidia.com/gpu",
            .replicas = 2'000'000'000,
            .devices = {.count = 1, .list = {}}},
           {.name = "nvidia.com/gpu", .replicas = 3, .devices = {.count = 0, .list = {"1"}}}}));
  const auto& units = found.offered.at(0).units;
  EXPECT_GT(units[0].replicas, 50'000);
  EXPECT_EQ(units[1].replicas, 3);
  EXPECT_LE(Bytes(found.offered[0]), kubelet::kLongestDeviceList);
  EXPECT_THAT(found.left_out, ElementsAre(HasSubstr("resources[0].replicas: 2000000000")));
}

}  // namespace
}  // namespace gantry::gpu
