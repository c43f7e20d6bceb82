// SPDX-License-Identifier: Apache-2.0
// What a container gets, for each strategy.
#include "operands/device_plugin/allocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "operands/device_plugin/testing/settings.h"

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const Beside kBeside = {
    .control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm"}, .imex_channels = {}, .modes = {}};

Resource TheResource(const Settings& settings, unsigned count = 2) {
  return OfferedResources(SetOf(Gpus(count)), settings, {}).resources.at(0);
}

Resource MigResource(const Settings& settings) {
  auto gpus = Gpus(2);
  AddMig(gpus[1], {"1g.10gb", "1g.10gb"});
  return OfferedResources(SetOf({gpus[1]}), settings, {}).resources.at(0);
}

TEST(Allocate, ByCdiOnlyNamesTheDevices) {
  auto settings = With({ListStrategy::kCdiCri, ListStrategy::kCdiAnnotations});
  settings.pass_device_specs = true;
  const auto got = Allocate(TheResource(settings), settings, kBeside, {"GPU-1", "GPU-0"});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-1",
                                            "k8s.device-plugin.nvidia.com/gpu=GPU-0"));
  ASSERT_THAT(got->annotations, SizeIs(1));
  EXPECT_THAT(got->annotations[0].first, testing::StartsWith("cdi.k8s.io/nvidia-device-plugin_"));
  EXPECT_EQ(got->annotations[0].second,
            "k8s.device-plugin.nvidia.com/gpu=GPU-1,k8s.device-plugin.nvidia.com/gpu=GPU-0");
  EXPECT_THAT(got->envs, IsEmpty());
  EXPECT_THAT(got->devices, IsEmpty());
  const auto other = Allocate(TheResource(settings), settings, kBeside, {"GPU-0"});
  EXPECT_NE(other->annotations[0].first, got->annotations[0].first);
}

TEST(Allocate, ByIndex) {
  auto settings = With({ListStrategy::kCdiCri, ListStrategy::kEnvVar});
  settings.id_strategy = IdStrategy::kIndex;
  const auto got = Allocate(TheResource(settings), settings, kBeside, {"GPU-1"});
  EXPECT_THAT(got->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=1"));
  EXPECT_THAT(got->envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "1")));
}

TEST(Allocate, ByEnvironmentAndDeviceNodes) {
  auto settings = With({ListStrategy::kEnvVar});
  settings.pass_device_specs = true;
  settings.driver.dev_root = "/run/nvidia/driver";
  const auto got = Allocate(TheResource(settings), settings, kBeside, {"GPU-0", "GPU-1"});
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
  const auto got = Allocate(TheResource(settings), settings, kBeside, {"GPU-0"});
  EXPECT_THAT(got->envs,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices")));
  EXPECT_THAT(got->mounts, ElementsAre(kubelet::Mount{"/var/run/nvidia-container-devices/GPU-0",
                                                      "/dev/null", false}));
}

// A container sees what it was given, whatever its image asks for in its environment.
TEST(Allocate, Kdp1605NothingButWhatWasAllocatedIsNamed) {
  for (const auto strategy : {ListStrategy::kEnvVar, ListStrategy::kVolumeMounts,
                              ListStrategy::kCdiAnnotations, ListStrategy::kCdiCri}) {
    const auto settings = With({strategy});
    const auto got = Allocate(TheResource(settings, 4), settings, kBeside, {"GPU-2"});
    ASSERT_TRUE(got);
    std::string said;
    for (const auto& [name, value] : got->envs) {
      said += value + " ";
    }
    for (const auto& [name, value] : got->annotations) {
      said += value + " ";
    }
    for (const auto& mount : got->mounts) {
      said += mount.container_path + " ";
    }
    said += Join(got->cdi_devices, " ");
    EXPECT_THAT(said, HasSubstr("GPU-2"));
    for (const auto* other : {"all", "GPU-0", "GPU-1", "GPU-3"}) {
      EXPECT_THAT(said, testing::Not(HasSubstr(other)));
    }
  }
}

TEST(Allocate, AMigDeviceHasItsGpusNodeAndItsCapabilities) {
  auto settings = Mig(policy::MigStrategy::kMixed);
  settings.list_strategies = {ListStrategy::kEnvVar, ListStrategy::kCdiCri};
  settings.pass_device_specs = true;
  const auto got = Allocate(MigResource(settings), settings, {}, {"MIG-1-0", "MIG-1-1"});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=MIG-1-0",
                                            "k8s.device-plugin.nvidia.com/gpu=MIG-1-1"));
  EXPECT_THAT(got->envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "MIG-1-0,MIG-1-1")));
  std::vector<std::string> nodes;
  for (const auto& device : got->devices) {
    nodes.push_back(device.container_path);
  }
  EXPECT_THAT(nodes, ElementsAre("/dev/nvidia11", "/dev/nvidia-caps/nvidia-cap100",
                                 "/dev/nvidia-caps/nvidia-cap101", "/dev/nvidia-caps/nvidia-cap102",
                                 "/dev/nvidia-caps/nvidia-cap103"));
  settings.id_strategy = IdStrategy::kIndex;
  EXPECT_THAT(Allocate(MigResource(settings), settings, {}, {"MIG-1-1"})->cdi_devices,
              ElementsAre("k8s.device-plugin.nvidia.com/gpu=1:1"));
}

TEST(Allocate, ImexChannelsAndModesGoWithEveryGpu) {
  auto settings = With({ListStrategy::kCdiCri, ListStrategy::kEnvVar, ListStrategy::kVolumeMounts});
  settings.modes = {"gds", "gdrcopy"};
  settings.pass_device_specs = true;
  const Beside beside{.control_nodes = {}, .imex_channels = {0}, .modes = {"gds"}};
  const auto got = Allocate(TheResource(settings), settings, beside, {"GPU-0"});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-0",
                                            "k8s.device-plugin.nvidia.com/imex-channel=0",
                                            "k8s.device-plugin.nvidia.com/gds=all"))
      << "no name without a document";
  EXPECT_THAT(got->envs,
              ElementsAre(Pair("NVIDIA_GDRCOPY", "enabled"), Pair("NVIDIA_GDS", "enabled"),
                          Pair("NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices"),
                          Pair("NVIDIA_IMEX_CHANNELS", "0")));
  EXPECT_THAT(got->mounts, testing::Contains(kubelet::Mount{
                               "/var/run/nvidia-container-devices/imex/0", "/dev/null", false}));
  EXPECT_THAT(got->devices, testing::Contains(kubelet::DeviceSpec{
                                "/dev/nvidia-caps-imex-channels/channel0",
                                "/dev/nvidia-caps-imex-channels/channel0", "rw"}));
}

TEST(Allocate, SharesOfOneGpuNameItOnce) {
  const auto settings = Shared(4);
  const auto got = Allocate(TheResource(settings), settings, kBeside, {"GPU-1::0", "GPU-1::3"});
  EXPECT_THAT(got->cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-1"));
}

TEST(Allocate, AnMpsShareGetsThePipesOfItsResource) {
  auto settings = Shared(4, true);
  settings.sharing.strategy = policy::SharingStrategy::kMps;
  const auto got = Allocate(TheResource(settings), settings, kBeside, {"GPU-1::0"});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->envs,
              ElementsAre(Pair("CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu.shared/pipe")));
  EXPECT_THAT(got->mounts,
              ElementsAre(kubelet::Mount{"/mps/nvidia.com/gpu.shared/pipe",
                                         "/run/nvidia/mps/nvidia.com/gpu.shared/pipe", false},
                          kubelet::Mount{"/dev/shm", "/run/nvidia/mps/shm", false}));
}

TEST(Allocate, AnUnknownDeviceIsRefusedByName) {
  const auto settings = Shared(2);
  for (const auto* id : {"GPU-9", "GPU-0", "GPU-0::2"}) {
    const auto got = Allocate(TheResource(settings), settings, kBeside, {id});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(got.error().message,
              format("invalid allocation request for 'nvidia.com/gpu': unknown device: {}", id));
  }
}

TEST(Allocate, OneShareOnlyWhenTheConfigurationSaysSo) {
  const std::vector<std::string> two = {"GPU-0::0", "GPU-1::0"};
  EXPECT_TRUE(Allocate(TheResource(Shared(2)), Shared(2), kBeside, two));
  const auto settings = Shared(2, false, true);
  EXPECT_TRUE(Allocate(TheResource(settings), settings, kBeside, {"GPU-0::0"}));
  const auto refused = Allocate(TheResource(settings), settings, kBeside, two);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("maximum request size for shared resources is 1; found 2"));
}

}  // namespace
}  // namespace gantry::device_plugin
