// SPDX-License-Identifier: Apache-2.0
// Which resources and devices a node has: whole GPUs, MIG devices under each strategy, shares.
#include "operands/device_plugin/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "operands/device_plugin/allocate.h"
#include "operands/device_plugin/testing/settings.h"

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kSingle = policy::MigStrategy::kSingle;
constexpr auto kMixed = policy::MigStrategy::kMixed;

std::vector<std::string> Names(const Resources& offered) {
  std::vector<std::string> names;
  for (const auto& resource : offered.resources) {
    names.push_back(format("{} {}", resource.name, resource.devices.size()));
  }
  return names;
}

std::vector<std::string> Ids(const Resource& resource) {
  std::vector<std::string> ids;
  for (const auto& device : resource.devices) {
    ids.push_back(device.id);
  }
  return ids;
}

TEST(OfferedResources, ExclusiveGpus) {
  const auto offered = OfferedResources(SetOf(Gpus(2)), {}, {"GPU-1"});
  ASSERT_THAT(offered.resources, SizeIs(1));
  EXPECT_EQ(offered.resources[0].name, "nvidia.com/gpu");
  EXPECT_EQ(offered.resources[0].endpoint, "nvidia-gpu.sock");
  EXPECT_THAT(offered.resources[0].devices, ElementsAre(kubelet::Device{"GPU-0", true, {0}},
                                                        kubelet::Device{"GPU-1", false, {1}}));
}

TEST(OfferedResources, ASharedGpuStandsThereOnceForEachShare) {
  const auto offered = OfferedResources(SetOf(Gpus(8)), Shared(4), {"GPU-7"});
  ASSERT_THAT(Names(offered), ElementsAre("nvidia.com/gpu 32"));
  EXPECT_EQ(offered.resources[0].devices[5], (kubelet::Device{"GPU-1::1", true, {1}}));
  for (int share = 28; share < 32; ++share) {
    EXPECT_FALSE(offered.resources[0].devices[static_cast<size_t>(share)].healthy)
        << "every share of a GPU that is unhealthy";
  }
}

TEST(OfferedResources, RenamedWhenAsked) {
  const auto resource = OfferedResources(SetOf(Gpus(1)), Shared(2, true), {}).resources.at(0);
  EXPECT_EQ(resource.name, "nvidia.com/gpu.shared");
  EXPECT_EQ(resource.endpoint, "nvidia-gpu.shared.sock");
}

TEST(OfferedResources, NoNumaNodeNoHint) {
  auto gpus = Gpus(1);
  gpus[0].numa_node = -1;
  EXPECT_THAT(OfferedResources(SetOf(gpus), {}, {}).resources[0].devices[0].numa_nodes, IsEmpty());
}

TEST(OfferedResources, WhatCantBeGivenIsLeftOutWithAReason) {
  auto gpus = Gpus(3);
  gpus[0].name = "NVIDIA DGX Display";
  AddMig(gpus[1], {"1g.10gb"});
  const auto offered = OfferedResources(SetOf(gpus), {}, {});
  EXPECT_THAT(Names(offered), ElementsAre("nvidia.com/gpu 1"));
  EXPECT_THAT(offered.left_out,
              ElementsAre(HasSubstr("drives a display"), HasSubstr("MIG_STRATEGY is none")));
  EXPECT_THAT(OfferedResources({}, {}, {}).resources, IsEmpty());
}

// --- MIG ---

TEST(MigMixed, AResourceForEachProfile) {
  auto gpus = Gpus(3);
  AddMig(gpus[0], {"3g.40gb", "1g.10gb", "1g.10gb+me"});
  AddMig(gpus[1], {"1g.10gb", "1g.24gb-me"});
  const auto offered = OfferedResources(SetOf(gpus), Mig(kMixed), {"MIG-0-1"});
  EXPECT_THAT(
      Names(offered),
      ElementsAre("nvidia.com/gpu 1", "nvidia.com/mig-1g.10gb 2", "nvidia.com/mig-1g.10gb.me 1",
                  "nvidia.com/mig-1g.24gb-me 1", "nvidia.com/mig-3g.40gb 1"));
  const auto& small = offered.resources[1];
  EXPECT_EQ(small.endpoint, "nvidia-mig-1g.10gb.sock");
  EXPECT_THAT(small.devices, ElementsAre(kubelet::Device{"MIG-0-1", false, {0}},
                                         kubelet::Device{"MIG-1-0", true, {1}}))
      << "the NUMA node of its GPU";
  EXPECT_EQ(small.units[1].index, "1:0");
  EXPECT_THAT(small.units[1].nodes, ElementsAre("/dev/nvidia11", "/dev/nvidia-caps/nvidia-cap100",
                                                "/dev/nvidia-caps/nvidia-cap101"));
  EXPECT_THAT(offered.left_out, IsEmpty());
}

// Upstream's plugin fails whole on such a device.
TEST(MigMixed, ASplitInstanceIsLeftOutAlone) {
  auto gpus = Gpus(1);
  AddMig(gpus[0], {"1c.3g.40gb", "1g.10gb"});
  const auto offered = OfferedResources(SetOf(gpus), Mig(kMixed), {});
  EXPECT_THAT(Names(offered), ElementsAre("nvidia.com/mig-1g.10gb 1"));
  EXPECT_THAT(offered.left_out, ElementsAre(HasSubstr("1c.3g.40gb")));
}

TEST(MigSingle, EveryDeviceIsAGpu) {
  auto gpus = Gpus(2);
  AddMig(gpus[0], {"1g.10gb", "1g.10gb"});
  AddMig(gpus[1], {"1g.10gb"});
  const auto offered = OfferedResources(SetOf(gpus), Mig(kSingle), {});
  ASSERT_THAT(Names(offered), ElementsAre("nvidia.com/gpu 3"));
  EXPECT_THAT(Ids(offered.resources[0]), ElementsAre("MIG-0-0", "MIG-0-1", "MIG-1-0"));
  EXPECT_THAT(Names(OfferedResources(SetOf(Gpus(2)), Mig(kSingle), {})),
              ElementsAre("nvidia.com/gpu 2"))
      << "a node without MIG is like any other";
}

TEST(MigSingle, DevicesThatDifferAreNotOffered) {
  auto gpus = Gpus(2);
  AddMig(gpus[0], {"1g.10gb"});
  AddMig(gpus[1], {"2g.20gb"});
  auto offered = OfferedResources(SetOf(gpus), Mig(kSingle), {});
  EXPECT_THAT(offered.resources, IsEmpty());
  EXPECT_THAT(offered.left_out, ElementsAre(HasSubstr("1g.10gb and 2g.20gb")));
  offered = OfferedResources(SetOf({gpus[0], Gpus(2)[1]}), Mig(kSingle), {});
  EXPECT_THAT(offered.resources, IsEmpty());
  EXPECT_THAT(offered.left_out, ElementsAre(HasSubstr("GPU 1 is whole beside MIG devices")));
}

TEST(MigSingle, AGpuWithoutMigDevicesDoesNotKeepTheOthersBack) {
  auto gpus = Gpus(2);
  AddMig(gpus[0], {"1g.10gb"});
  AddMig(gpus[1], {});
  const auto offered = OfferedResources(SetOf(gpus), Mig(kSingle), {});
  EXPECT_THAT(Names(offered), ElementsAre("nvidia.com/gpu 1"));
  EXPECT_THAT(offered.left_out, ElementsAre(HasSubstr("has no MIG device")));
}

// --- sharing ---

policy::SharedResource OfGpus(int replicas, policy::SharedDevices devices) {
  return {.name = "nvidia.com/gpu", .replicas = replicas, .devices = std::move(devices)};
}

TEST(Sharing, Kdp628OnlyTheGpusThatAreNamedAreShared) {
  auto settings = Shared(2);
  settings.sharing.resources = {OfGpus(2, {.count = 0, .list = {"1", "GPU-3", "GPU-77"}})};
  const auto offered = OfferedResources(SetOf(Gpus(4)), settings, {});
  ASSERT_THAT(offered.resources, SizeIs(1));
  EXPECT_THAT(Ids(offered.resources[0]),
              ElementsAre("GPU-0", "GPU-1::0", "GPU-1::1", "GPU-2", "GPU-3::0", "GPU-3::1"));
}

TEST(Sharing, OfSeveralEntriesTheOneWithTheMostReplicasCounts) {
  auto settings = Shared(2);
  settings.sharing.resources = {OfGpus(2, {.count = 2, .list = {}}),
                                OfGpus(3, {.count = 0, .list = {"1", "2"}}),
                                OfGpus(2, {.count = 0, .list = {"2"}})};
  EXPECT_THAT(Ids(OfferedResources(SetOf(Gpus(4)), settings, {}).resources.at(0)),
              ElementsAre("GPU-0::0", "GPU-0::1", "GPU-1::0", "GPU-1::1", "GPU-1::2", "GPU-2::0",
                          "GPU-2::1", "GPU-2::2", "GPU-3"));
}

TEST(Sharing, Kdp628RenamedTheSharedOnesStandApart) {
  auto settings = Shared(3, true);
  settings.sharing.resources = {OfGpus(3, {.count = 1, .list = {}})};
  EXPECT_THAT(Names(OfferedResources(SetOf(Gpus(4)), settings, {})),
              ElementsAre("nvidia.com/gpu 3", "nvidia.com/gpu.shared 3"));
}

TEST(Sharing, BesideMigEachResourceHasItsOwn) {
  auto gpus = Gpus(2);
  AddMig(gpus[0], {"3g.40gb", "1g.10gb"});
  auto settings = Mig(kMixed);
  settings.sharing.strategy = policy::SharingStrategy::kTimeSlicing;
  settings.sharing.resources = {{.name = "nvidia.com/mig-1g.10gb", .replicas = 4},
                                {.name = "nvidia.com/gpu", .replicas = 2}};
  EXPECT_THAT(
      Names(OfferedResources(SetOf(gpus), settings, {})),
      ElementsAre("nvidia.com/gpu 2", "nvidia.com/mig-1g.10gb 4", "nvidia.com/mig-3g.40gb 1"));
}

TEST(Sharing, MigDevicesByEachOfTheirNames) {
  auto gpus = Gpus(2);
  AddMig(gpus[0], {"1g.10gb", "1g.10gb", "1g.10gb"});
  AddMig(gpus[1], {"1g.10gb"});
  auto settings = Mig(kSingle);
  settings.sharing.strategy = policy::SharingStrategy::kTimeSlicing;
  settings.sharing.resources = {
      OfGpus(2, {.count = 0, .list = {"0:0", "MIG-0-1", "MIG-GPU-0/3/0"}})};
  EXPECT_THAT(Ids(OfferedResources(SetOf(gpus), settings, {}).resources.at(0)),
              ElementsAre("MIG-0-0::0", "MIG-0-0::1", "MIG-0-1::0", "MIG-0-1::1", "MIG-0-2::0",
                          "MIG-0-2::1", "MIG-1-0"));
  settings.sharing.resources = {OfGpus(2, {.count = 0, .list = {"1"}})};
  EXPECT_THAT(Names(OfferedResources(SetOf(gpus), settings, {})), ElementsAre("nvidia.com/gpu 5"))
      << "a GPU's index means its MIG devices";
}

TEST(Sharing, MpsSharesWholeGpusOnly) {
  auto gpus = Gpus(1);
  AddMig(gpus[0], {"1g.10gb"});
  auto settings = Mig(kSingle);
  settings.sharing.strategy = policy::SharingStrategy::kMps;
  settings.sharing.resources = {OfGpus(4, {})};
  const auto offered = OfferedResources(SetOf(gpus), settings, {});
  EXPECT_THAT(offered.resources, IsEmpty());
  EXPECT_THAT(offered.left_out, ElementsAre(HasSubstr("MPS shares whole GPUs only")));
}

// NVIDIA's plugin takes V100 (7.0) for older than Volta.
TEST(Sharing, MpsTakesAsManyClientsAsTheGpuHasRoomFor) {
  auto gpus = Gpus(2);
  gpus[0].compute_major = 6;
  gpus[1].compute_major = 7;
  auto settings = With({ListStrategy::kCdiCri});
  settings.sharing.strategy = policy::SharingStrategy::kMps;
  const auto offered = [&](int replicas) {
    settings.sharing.resources = {OfGpus(replicas, {})};
    return OfferedResources(SetOf(gpus), settings, {});
  };
  EXPECT_THAT(Names(offered(16)), ElementsAre("nvidia.com/gpu 32"));
  EXPECT_THAT(Names(offered(17)), ElementsAre("nvidia.com/gpu 17"));
  EXPECT_THAT(offered(17).left_out,
              ElementsAre("GPU 0 (GPU-0): MPS takes at most 16 clients on it, replicas is 17"));
  EXPECT_THAT(Names(offered(48)), ElementsAre("nvidia.com/gpu 48"));
  EXPECT_THAT(offered(49).left_out, SizeIs(2));
  settings.sharing.strategy = policy::SharingStrategy::kTimeSlicing;
  EXPECT_THAT(Names(offered(49)), ElementsAre("nvidia.com/gpu 98"));
}

// dcgm#201: "::" distinguishes a share from its GPU, for monitoring too.
TEST(DeviceIds, Dcgm201TheGpuOfAShareIsFoundInItsId) {
  const auto resource = OfferedResources(SetOf(Gpus(2)), Shared(3), {}).resources.at(0);
  for (const auto& device : resource.devices) {
    const auto* unit = resource.UnitOf(device.id);
    ASSERT_NE(unit, nullptr);
    EXPECT_EQ(device.id, format("{}::{}", unit->uuid, device.id.substr(device.id.size() - 1)));
    EXPECT_LE(device.id.size(), 63U) << "the kubelet's limit";
  }
}

TEST(OfferedResources, AGpuThatAnotherProgramHasIsNoDeviceAndItsResourceStays) {
  const gpu::Owners one = {{"GPU-1", {.program = "mig-change", .reason = "it changes"}}};
  const auto offered = OfferedResources(SetOf(Gpus(2)), {}, {}, one);
  EXPECT_THAT(Ids(offered.resources.at(0)), ElementsAre("GPU-0"));
  EXPECT_EQ(offered.resources[0].withdrawn,
            (std::map<std::string, std::string>{{"GPU-1", "it changes"}}));
  EXPECT_THAT(offered.left_out, IsEmpty());
  const auto none = OfferedResources(SetOf({Gpus(2)[1]}), {}, {}, one);
  ASSERT_EQ(none.resources.size(), 1U);
  EXPECT_THAT(none.resources[0].devices, IsEmpty());
  const auto refused = Allocate(none.resources[0], {}, {}, {"GPU-1"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "nvidia.com/gpu: GPU GPU-1 is withdrawn: it changes; create the pod again after that");
}

}  // namespace
}  // namespace gantry::device_plugin
