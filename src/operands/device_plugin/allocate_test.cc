// SPDX-License-Identifier: Apache-2.0
// Resources and Allocate answers, for each strategy.
#include "operands/device_plugin/allocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const std::set<std::string> kNodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"};

std::vector<Gpu> Gpus(unsigned count) {
  std::vector<Gpu> gpus;
  for (unsigned i = 0; i < count; ++i) {
    gpus.push_back({.index = i,
                    .minor = i + 10,
                    .uuid = format("GPU-{}", i),
                    .name = "Tesla T4",
                    .pci_bus_id = format("0000:0{}:00.0", i),
                    .numa_node = static_cast<int>(i % 2),
                    .mig_enabled = false});
  }
  return gpus;
}

Settings With(std::set<ListStrategy> strategies) {
  Settings settings;
  settings.list_strategies = std::move(strategies);
  settings.cdi_annotation_prefix = "cdi.k8s.io/";
  settings.driver = {"/", "/host", "/", "/host"};
  return settings;
}

Settings Shared(int replicas, bool rename = false, bool one_only = false) {
  auto settings = With({ListStrategy::kCdiCri});
  settings.sharing.strategy = policy::SharingStrategy::kTimeSlicing;
  settings.sharing.rename_by_default = rename;
  settings.sharing.fail_requests_greater_than_one = one_only;
  settings.sharing.resources = {{.name = "nvidia.com/gpu", .replicas = replicas}};
  return settings;
}

Resource TheResource(const Settings& settings, unsigned count = 2) {
  return OfferedResources(Gpus(count), settings, {}).resources.at(0);
}

TEST(OfferedResources, ExclusiveGpus) {
  const auto offered = OfferedResources(Gpus(2), With({}), {"GPU-1"});
  ASSERT_THAT(offered.resources, SizeIs(1));
  EXPECT_EQ(offered.resources[0].name, "nvidia.com/gpu");
  EXPECT_EQ(offered.resources[0].endpoint, "nvidia-gpu.sock");
  EXPECT_THAT(offered.resources[0].devices, ElementsAre(kubelet::Device{"GPU-0", true, {0}},
                                                        kubelet::Device{"GPU-1", false, {1}}));
}

TEST(OfferedResources, ASharedGpuStandsThereOnceForEachShare) {
  const auto offered = OfferedResources(Gpus(8), Shared(4), {"GPU-7"});
  ASSERT_THAT(offered.resources, SizeIs(1));
  EXPECT_EQ(offered.resources[0].name, "nvidia.com/gpu");
  ASSERT_THAT(offered.resources[0].devices, SizeIs(32));
  EXPECT_EQ(offered.resources[0].devices[5], (kubelet::Device{"GPU-1::1", true, {1}}));
  for (int share = 28; share < 32; ++share) {
    EXPECT_FALSE(offered.resources[0].devices[static_cast<size_t>(share)].healthy)
        << "every share of a GPU that is unhealthy";
  }
}

TEST(OfferedResources, RenamedWhenAsked) {
  const auto resource = TheResource(Shared(2, true));
  EXPECT_EQ(resource.name, "nvidia.com/gpu.shared");
  EXPECT_EQ(resource.endpoint, "nvidia-gpu.shared.sock");
}

TEST(OfferedResources, NoNumaNodeNoHint) {
  auto gpus = Gpus(1);
  gpus[0].numa_node = -1;
  EXPECT_THAT(OfferedResources(gpus, With({}), {}).resources[0].devices[0].numa_nodes, IsEmpty());
}

TEST(OfferedResources, WhatCantBeGivenIsLeftOutWithAReason) {
  auto gpus = Gpus(3);
  gpus[0].name = "NVIDIA DGX Display";
  gpus[1].mig_enabled = true;
  const auto offered = OfferedResources(gpus, With({}), {});
  EXPECT_THAT(offered.resources[0].devices, SizeIs(1));
  EXPECT_THAT(offered.left_out,
              ElementsAre(HasSubstr("drives a display"), HasSubstr("is in MIG mode")));
  EXPECT_THAT(OfferedResources({}, With({}), {}).resources, IsEmpty());
}

TEST(DeviceIds, ShareAndGpu) {
  EXPECT_EQ(UuidOf("GPU-1::3"), "GPU-1");
  EXPECT_EQ(UuidOf("GPU-1"), "GPU-1");
  EXPECT_TRUE(IsReplica("GPU-1::0"));
  EXPECT_FALSE(IsReplica("GPU-1"));
}

TEST(Allocate, ByCdiOnlyNamesTheDevices) {
  auto settings = With({ListStrategy::kCdiCri, ListStrategy::kCdiAnnotations});
  settings.pass_device_specs = true;
  const auto got = Allocate(TheResource(settings), settings, kNodes, {"GPU-1", "GPU-0"});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-1",
                                            "k8s.device-plugin.nvidia.com/gpu=GPU-0"));
  ASSERT_THAT(got->annotations, SizeIs(1));
  EXPECT_THAT(got->annotations[0].first, testing::StartsWith("cdi.k8s.io/nvidia-device-plugin_"));
  EXPECT_EQ(got->annotations[0].second,
            "k8s.device-plugin.nvidia.com/gpu=GPU-1,k8s.device-plugin.nvidia.com/gpu=GPU-0");
  EXPECT_THAT(got->envs, IsEmpty());
  EXPECT_THAT(got->devices, IsEmpty());
  const auto other = Allocate(TheResource(settings), settings, kNodes, {"GPU-0"});
  EXPECT_NE(other->annotations[0].first, got->annotations[0].first);
}

TEST(Allocate, ByIndex) {
  auto settings = With({ListStrategy::kCdiCri, ListStrategy::kEnvVar});
  settings.id_strategy = IdStrategy::kIndex;
  const auto got = Allocate(TheResource(settings), settings, kNodes, {"GPU-1"});
  EXPECT_THAT(got->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=1"));
  EXPECT_THAT(got->envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "1")));
}

TEST(Allocate, ByEnvironmentAndDeviceNodes) {
  auto settings = With({ListStrategy::kEnvVar});
  settings.pass_device_specs = true;
  settings.driver.dev_root = "/run/nvidia/driver";
  const auto got = Allocate(TheResource(settings), settings, kNodes, {"GPU-0", "GPU-1"});
  EXPECT_THAT(got->envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "GPU-0,GPU-1")));
  EXPECT_THAT(got->cdi_devices, IsEmpty());
  EXPECT_THAT(
      got->devices,
      ElementsAre(kubelet::DeviceSpec{"/dev/nvidiactl", "/run/nvidia/driver/dev/nvidiactl", "rw"},
                  kubelet::DeviceSpec{"/dev/nvidia-uvm", "/run/nvidia/driver/dev/nvidia-uvm", "rw"},
                  kubelet::DeviceSpec{"/dev/nvidia10", "/run/nvidia/driver/dev/nvidia10", "rw"},
                  kubelet::DeviceSpec{"/dev/nvidia11", "/run/nvidia/driver/dev/nvidia11", "rw"}));
}

TEST(Allocate, ByVolumeMounts) {
  const auto settings = With({ListStrategy::kVolumeMounts, ListStrategy::kEnvVar});
  const auto got = Allocate(TheResource(settings), settings, kNodes, {"GPU-0"});
  EXPECT_THAT(got->envs,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices")));
  EXPECT_THAT(got->mounts, ElementsAre(kubelet::Mount{"/var/run/nvidia-container-devices/GPU-0",
                                                      "/dev/null", false}));
}

TEST(Allocate, SharesOfOneGpuNameItOnce) {
  const auto settings = Shared(4);
  const auto got = Allocate(TheResource(settings), settings, kNodes, {"GPU-1::0", "GPU-1::3"});
  EXPECT_THAT(got->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-1"));
}

TEST(Allocate, AnUnknownDeviceIsRefusedByName) {
  const auto settings = Shared(2);
  for (const auto* id : {"GPU-9", "GPU-0", "GPU-0::2"}) {
    const auto got = Allocate(TheResource(settings), settings, kNodes, {id});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(got.error().message,
              format("invalid allocation request for 'nvidia.com/gpu': unknown device: {}", id));
  }
}

TEST(Allocate, OneShareOnlyWhenTheConfigurationSaysSo) {
  const std::vector<std::string> two = {"GPU-0::0", "GPU-1::0"};
  EXPECT_TRUE(Allocate(TheResource(Shared(2)), Shared(2), kNodes, two));
  const auto settings = Shared(2, false, true);
  EXPECT_TRUE(Allocate(TheResource(settings), settings, kNodes, {"GPU-0::0"}));
  const auto refused = Allocate(TheResource(settings), settings, kNodes, two);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("maximum request size for shared resources is 1; found 2"));
}

}  // namespace
}  // namespace gantry::device_plugin
