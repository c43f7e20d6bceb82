// SPDX-License-Identifier: Apache-2.0
// Every mode of the runtime on a small node: what a container gets, and what it does not.
#include "operands/container_runtime/inject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "operands/container_runtime/device_requests.h"
#include "operands/container_runtime/testing/modes_fixture.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// kdp#1605: a pod from a CUDA image, without an allocation, sees every GPU of its node.
TEST_F(ModesTest, Kdp1605_TheImagesVariableAloneGivesNoGpu) {
  settings_.accept_environment = RuntimeConfig{}.accept_environment;
  for (const char* mode : {"auto", "cdi", "jit-cdi", "legacy", "csv"}) {
    settings_.mode = mode;
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=all"}), "") << mode;
    EXPECT_THAT(Devices(), IsEmpty()) << mode;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("not privileged"))) << mode;
  }
}

// kdp#1605, the other half: the CDI document of an allocation says "void", which counts more than
// the image's "all" in the same environment.
TEST_F(ModesTest, Kdp1605_AnAllocationIsAllThatAContainerGets) {
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=void"}), "");
  EXPECT_THAT(Devices(), IsEmpty());
}

TEST_F(ModesTest, JitCdiAndLegacyInjectFromTheInventory) {
  for (const char* mode : {"auto", "jit-cdi", "legacy"}) {
    settings_.mode = mode;
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "") << mode;
    EXPECT_THAT(Devices(), ElementsAre("/dev/null", "/dev/nvidia0", "/dev/zero")) << mode;
    EXPECT_THAT(Mounts(), Contains(kLibraries + std::string("libcuda.so.535.1"))) << mode;
    EXPECT_EQ(config_["hooks"]["createContainer"].size(), 1U) << "one process for all hooks";
    EXPECT_EQ(config_["hooks"]["createContainer"][0]["path"], "/t/nvidia-cdi-hook");
    EXPECT_FALSE(config_["hooks"].contains("prestart")) << mode;
  }
}

TEST_F(ModesTest, JitCdiTakesDevicesOfDocumentsByTheirNames) {
  Put("/cdi/x.json", R"({"cdiVersion": "0.5.0", "kind": "example.com/gpu", "devices": [
      {"name": "0", "containerEdits": {"env": ["FROM=disk"]}}]})");
  settings_.mode = "jit-cdi";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=example.com/gpu=0"}), "");
  EXPECT_THAT(Devices(), IsEmpty()) << "of the document's edits and no other";
  EXPECT_THAT(config_["process"]["env"].dump(), HasSubstr("FROM=disk"));
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=example.com/gpu=7"}), HasSubstr("example.com/gpu"));
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=example.com/gpu=0,0"}), HasSubstr("mixed"));
}

TEST_F(ModesTest, DevicesByEveryName) {
  const auto devices = [&](const std::string& value) {
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=" + value}), "") << value;
    return Devices();
  };
  EXPECT_THAT(devices("GPU-1"), Contains("/dev/nvidia0"));
  EXPECT_THAT(devices("1:1"),
              AllOf(Contains("/dev/nvidia1"), Contains("/dev/random"), Not(Contains("/dev/full"))));
  EXPECT_THAT(devices("MIG-a"), AllOf(Contains("/dev/full"), Not(Contains("/dev/random"))));
  EXPECT_THAT(devices("all"), AllOf(Contains("/dev/nvidia0"), Contains("/dev/full")));
  EXPECT_THAT(devices("none"), ElementsAre("/dev/null"));
  EXPECT_THAT(Mounts(), Contains("/usr/bin/nvidia-smi"));
  EXPECT_THAT(devices("runtime.nvidia.com/gpu=0"), Contains("/dev/nvidia0"));
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=7"}), HasSubstr("find device 7"));
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=runtime.nvidia.com/gpu=0,a.com/b=c"}),
              HasSubstr("cannot be mixed"));
}

// As NVIDIA's runtime: what the image's owner names is given, although CUDA finds no device in it.
TEST_F(ModesTest, AGpuInMigModeByItsOwnName) {
  for (const char* name : {"1", "GPU-2", "gpu1", "runtime.nvidia.com/gpu=1"}) {
    EXPECT_EQ(Start({std::string("NVIDIA_VISIBLE_DEVICES=") + name}), "") << name;
    EXPECT_THAT(Devices(), ElementsAre("/dev/null", "/dev/nvidia1", "/dev/zero")) << name;
  }
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=1,1:0"}), "");
  EXPECT_THAT(Devices(),
              AllOf(Contains("/dev/nvidia1"), Contains("/dev/full"), Not(Contains("/dev/random"))));
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=1:7"}), HasSubstr("find device 1:7"));
}

TEST_F(ModesTest, CapabilitiesCountInEveryMode) {
  for (const char* mode : {"jit-cdi", "legacy", "cdi"}) {
    settings_.mode = mode;
    const std::string device = std::string(mode) == "cdi" ? "runtime.nvidia.com/gpu=0" : "0";
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=" + device, "NVIDIA_DRIVER_CAPABILITIES=utility"}),
              "");
    EXPECT_THAT(Mounts(), ElementsAre("/usr/bin/nvidia-smi",
                                      kLibraries + std::string("libnvidia-ml.so.535.1")))
        << mode;
    EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=" + device, "NVIDIA_DRIVER_CAPABILITIES=magic"}),
                HasSubstr("magic"));
  }
}

TEST_F(ModesTest, CapabilitiesAndRequirementsAreNothingToOtherVendors) {
  const std::string document =
      "cdiVersion: 0.5.0\ndevices:\n- name: \"0\"\n  containerEdits:\n    deviceNodes:\n"
      "    - {path: /dev/dri/card0, hostPath: /dev/null}\n    - {path: /dev/a, hostPath: "
      "/dev/null}\n";
  Put("/cdi/a.yaml", "kind: amd.com/gpu\n" + document);
  Put("/cdi/b.yaml", "kind: management.nvidia.com/gpu\n" + document);
  const auto start = [&](const std::string& kind, const std::string& variable) {
    return Start({"NVIDIA_VISIBLE_DEVICES=" + kind + "/gpu=0", variable});
  };
  EXPECT_EQ(start("amd.com", "NVIDIA_DRIVER_CAPABILITIES=utility"), "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/dri/card0", "/dev/a"));
  EXPECT_EQ(start("amd.com", "NVIDIA_DRIVER_CAPABILITIES=magic"), "");
  EXPECT_EQ(start("amd.com", "NVIDIA_REQUIRE_CUDA=cuda>=13.0"), "");
  EXPECT_EQ(start("management.nvidia.com", "NVIDIA_DRIVER_CAPABILITIES=utility"), "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/a"));
  EXPECT_THAT(start("management.nvidia.com", "NVIDIA_REQUIRE_CUDA=cuda>=13.0"), HasSubstr("13.0"));
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=amd.com/gpu=0,management.nvidia.com/gpu=0",
                   "NVIDIA_DRIVER_CAPABILITIES=utility"}),
            "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/dri/card0", "/dev/a")) << "beside NVIDIA's too";
  settings_.default_kind = "amd.com/gpu";
  EXPECT_THAT(start("amd.com", "NVIDIA_DRIVER_CAPABILITIES=magic"), HasSubstr("magic"))
      << "the default kind is whatever the administrator gives for NVIDIA's";
}

TEST_F(ModesTest, CapabilitiesThatAreNotAskedFor) {
  const std::string video = kLibraries + std::string("libnvcuvid.so.535.1");
  settings_.mode = "legacy";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
  EXPECT_THAT(Mounts(), Not(Contains(video))) << "utility,compute";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=,"}), "");
  EXPECT_THAT(Mounts(), Not(Contains(video))) << "nothing is asked for";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0", "CUDA_VERSION=9.0"}), "");
  EXPECT_THAT(Mounts(), Contains(video)) << "an image of the time before the variable";
  settings_.mode = "jit-cdi";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
  EXPECT_THAT(Mounts(), Contains(video));
  settings_.supported_capabilities = "compute,utility";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
  EXPECT_THAT(Mounts(), Not(Contains(video)));
}

TEST_F(ModesTest, RequirementsCountInEveryMode) {
  for (const char* mode : {"jit-cdi", "legacy", "cdi"}) {
    settings_.mode = mode;
    const std::string device = "NVIDIA_VISIBLE_DEVICES=runtime.nvidia.com/gpu=0";
    EXPECT_THAT(Start({device, "NVIDIA_REQUIRE_CUDA=cuda>=13.0"}), HasSubstr("cuda 12.2")) << mode;
    EXPECT_THAT(Devices(), IsEmpty()) << mode;
    EXPECT_EQ(Start({device, "NVIDIA_REQUIRE_CUDA=cuda>=12.0 brand=geforce"}), "") << mode;
    EXPECT_EQ(Start({device, "NVIDIA_REQUIRE_CUDA=cuda>=13.0", "NVIDIA_DISABLE_REQUIRE=1"}), "");
    EXPECT_THAT(Start({device, "NVIDIA_REQUIRE_ARCH=arch>=9.0"}), HasSubstr("arch 8.0"));
  }
  settings_.mode = "jit-cdi";
  settings_.disable_require = true;
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_REQUIRE_CUDA=cuda>=13.0"}), "");
  settings_.disable_require = false;
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=MIG-a", "NVIDIA_REQUIRE_ARCH=arch>=9.0"}), "")
      << "of the GPU that is asked for";
}

TEST_F(ModesTest, DocumentsOnDiskInModeCdi) {
  Put("/cdi/a.yaml",
      "kind: nvidia.com/gpu\ncdiVersion: 0.5.0\ndevices:\n- name: \"0\"\n"
      "  containerEdits:\n    deviceNodes:\n    - path: /dev/a\n      hostPath: /dev/null\n");
  settings_.mode = "cdi";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/a"));
  settings_.mode = "auto";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0"}), "") << "only CDI names: mode cdi";
  EXPECT_THAT(Devices(), ElementsAre("/dev/a"));
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=1"}), HasSubstr("nvidia.com/gpu"));
  Put("/cdi/b.json", R"({"cdiVersion": "0.5.0", "kind": "b.com\/gpu", "devices": [{"name": "0",
      "containerEdits": {"deviceNodes": [{"path": "\/dev\/b", "hostPath": "/dev/null"}]}}]})");
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=b.com/gpu=0"}), "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/b"));
}

// What a device plugin allocates with the strategy cdi-annotations.
TEST_F(ModesTest, AnnotationsWithCdiNamesAreModeCdi) {
  Put("/cdi/a.json", R"({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name":
      "0", "containerEdits": {"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/null"}]}}]})");
  annotations_ = {{"cdi.k8s.io/x", "nvidia.com/gpu=0"}};
  for (const char* mode : {"auto", "cdi"}) {
    settings_.mode = mode;
    EXPECT_EQ(Start({}), "") << mode;
    EXPECT_THAT(Devices(), ElementsAre("/dev/a")) << mode;
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=1"}), "") << mode;
    EXPECT_THAT(Devices(), ElementsAre("/dev/a")) << "the annotation is stronger, " << mode;
  }
  annotations_ = {{"cdi.k8s.io/x", "nvidia.com/gpu=7"}};
  EXPECT_THAT(Start({}), HasSubstr("find device 7: no CDI document of nvidia.com/gpu"));
  settings_.mode = "auto";
  EXPECT_THAT(Start({}), HasSubstr("find device 7: no CDI document of nvidia.com/gpu"));
  annotations_ = {{"cdi.k8s.io/x", "nvidia.com/gpu=0,7"}};
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
  EXPECT_THAT(Devices(), Contains("/dev/nvidia0")) << "not all are CDI names: the variable counts";
  annotations_ = {{"cdi.k8s.io/x", "runtime.nvidia.com/gpu=0"}};
  EXPECT_EQ(Start({}), "");
  EXPECT_THAT(Devices(), Contains("/dev/nvidia0"));
  annotations_ = {{"cdi.k8s.io/x", "nvidia.com/gpu=0"}};
  for (const char* mode : {"jit-cdi", "legacy"}) {
    settings_.mode = mode;
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
    EXPECT_THAT(Devices(), Contains("/dev/nvidia0")) << mode;
  }
}

TEST_F(ModesTest, TegraBoardsHaveLists) {
  const std::string lists = "/etc/nvidia-container-runtime/host-files-for-container.d/";
  Put("/etc/nv_tegra_release", "R35");
  Put("/usr/lib/tegra/libnvos.so", "elf");
  Put("/usr/lib/tegra/libextra.so", "elf");
  Put(lists + "l4t.csv", "lib, /usr/lib/tegra/libnvos.so\ndir, /not/there\n");
  Put(lists + "extra.csv", "lib, /usr/lib/tegra/libextra.so\n");
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=all"}), "");
  EXPECT_THAT(Mounts(), ElementsAre("/etc/nv_tegra_release", "/usr/lib/tegra/libnvos.so"));
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_REQUIRE_JETPACK=csv-mounts=all"}), "");
  EXPECT_THAT(Mounts(), ElementsAre("/etc/nv_tegra_release", "/usr/lib/tegra/libextra.so",
                                    "/usr/lib/tegra/libnvos.so"));
  Put(lists + "devices.csv", "magic, /x\n");
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=all"}), HasSubstr("devices.csv"));
  settings_.csv_folder = "/nowhere";
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=all"}), HasSubstr("no mount list"));
}

TEST_F(ModesTest, ATegraBoardsListsCountAsTheyAreUnlessCapabilitiesAreAskedFor) {
  const std::string lists = "/etc/nvidia-container-runtime/host-files-for-container.d/";
  Put("/usr/lib/tegra/libnvidia-eglcore.so.35", "elf");
  Put(lists + "l4t.csv", "lib, /usr/lib/tegra/libnvidia-eglcore.so.35\n");
  settings_.mode = "csv";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=all"}), "");
  EXPECT_THAT(Mounts(), ElementsAre("/usr/lib/tegra/libnvidia-eglcore.so.35"))
      << "and no /etc/nv_tegra_release where there is none";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute"}), "");
  EXPECT_THAT(Mounts(), IsEmpty());
}

TEST_F(ModesTest, AFeatureThatTheNodeLacksIsAWarning) {
  for (const char* mode : {"jit-cdi", "legacy"}) {
    settings_.mode = mode;
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_GDS=enabled", "NVIDIA_MOFED=enabled",
                     "NVIDIA_GDRCOPY=enabled", "NVIDIA_NVSWITCH=enabled"}),
              "")
        << mode;
    EXPECT_THAT(Devices(), ElementsAre("/dev/null", "/dev/nvidia0", "/dev/zero")) << mode;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("gds is asked for"), HasSubstr("uverbs"),
                                       HasSubstr("gdrdrv"), HasSubstr("nvswitch")))
        << mode;
  }
}

TEST_F(ModesTest, FeaturesChannelsAndRightsComeWithGpus) {
  Node("/dev/gdrdrv");
  Node("/dev/nvidia-caps-imex-channels/channel3");
  Node("/dev/nvidia-caps/nvidia-cap1");
  Put("/proc/driver/nvidia-caps/mig-minors", "config 1\nmonitor 2\n");
  Node("/dev/nvidiactl");  // below the root, so its own device folder is taken
  inventory_.driver.host_dev_root = folder_;
  settings_.driver_root = "/";
  const std::vector<std::string> asked = {"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_GDRCOPY=enabled",
                                          "NVIDIA_GDS=disabled", "NVIDIA_IMEX_CHANNELS=3,all,-1,x"};
  EXPECT_THAT(Start(asked), HasSubstr("find device node /dev/gdrdrv"))
      << "asked for, and this machine has none";
  const Json config = {
      {"process", {{"env", asked}, {"capabilities", {{"bounding", {"CAP_SYS_ADMIN"}}}}}}};
  const auto requests = RequestedDevices(config, settings_);
  EXPECT_THAT(requests->features, ElementsAre("gdrcopy"));
  EXPECT_THAT(requests->imex_channels, ElementsAre("3"));
  settings_.ignore_imex_requests = true;
  EXPECT_THAT(RequestedDevices(config, settings_)->imex_channels, IsEmpty());
}

// NVIDIA's device plugin and GFD ask for the right to watch MIG on every node.
TEST_F(ModesTest, ARightToMigThatTheNodeLacksIsAWarning) {
  Put("/cdi/a.json", R"({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name":
      "all", "containerEdits": {"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/null"}]}}]})");
  for (const char* mode : {"auto", "cdi", "jit-cdi", "legacy"}) {
    settings_.mode = mode;
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_MONITOR_DEVICES=all",
                     "NVIDIA_MIG_CONFIG_DEVICES=all"},
                    true),
              "")
        << mode;
    EXPECT_THAT(Devices(), Not(IsEmpty())) << mode;
    EXPECT_THAT(Devices(), Not(Contains(HasSubstr("nvidia-caps")))) << mode;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("/dev/nvidia-caps/nvidia-cap1"),
                                       HasSubstr("no /dev/nvidia-caps/nvidia-cap2")))
        << mode;
  }
}

TEST_F(ModesTest, AnImexChannelThatTheNodeLacks) {
  Put("/cdi/a.json", R"({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name":
      "0", "containerEdits": {"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/null"}]}}]})");
  settings_.mode = "cdi";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=0"}), "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/a"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("IMEX channel 0 is asked for and not given")));
  settings_.mode = "auto";
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0", "NVIDIA_IMEX_CHANNELS=0"}), "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/a"));
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=0"}), HasSubstr("channel0"))
      << "as NVIDIA's runtime where it makes the document";
}

// The toolkit's inventory is of a moment ago.
TEST_F(ModesTest, WhatTheNodeNoLongerHasIsLeftOut) {
  inventory_.files.control_nodes.emplace_back("/dev/nvidia-modeset");
  inventory_.gpus[0].drm_nodes.emplace_back("/dev/dri/card1");
  inventory_.files.sockets = {{"/run/gone/socket", "/run/gone/socket"},
                              {"/run/here/socket", "/run/here/socket"}};
  Put("/run/here/socket", "");
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/null", "/dev/nvidia0", "/dev/zero"));
  EXPECT_THAT(Mounts(), AllOf(Contains("/run/here/socket"), Not(Contains("/run/gone/socket"))));
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("nvidia-modeset is not given"), HasSubstr("card1 is not given"),
                          HasSubstr("/run/gone/socket is not given")));
  fs::remove(folder_ + "/dev/nvidia0");
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=0"}), HasSubstr("nvidia0")) << "the GPU itself";
}

TEST_F(ModesTest, MigRightsNeedPrivilege) {
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_MIG_CONFIG_DEVICES=all"}),
              HasSubstr("not privileged"));
  const Json config = {{"process",
                        {{"env", {"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_MIG_MONITOR_DEVICES=all"}},
                         {"capabilities", {{"bounding", {"CAP_SYS_ADMIN"}}}}}}};
  EXPECT_THAT(RequestedDevices(config, settings_)->mig_nodes, ElementsAre("monitor"));
}

TEST_F(ModesTest, AnInventoryOfAnotherDriverDoesNotCount) {
  Put("/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  x\n");
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=0"}), HasSubstr("550.54.15"))
      << "the disk is looked at instead, and has no such driver";
  Put("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1  x\n");
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
}

TEST_F(ModesTest, WithoutAnInventoryTheDiskAndProcfsAnswer) {
  Put("/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  x\n");
  Put("/proc/driver/nvidia/gpus/0000:01:00.0/information", "GPU UUID: GPU-x\nDevice Minor: 0\n");
  Put(kLibraries + std::string("libcuda.so.550.54.15"), "elf");
  places_.inventory = folder_ + "/absent";
  const auto inventory = FindInventory(settings_, places_);
  ASSERT_TRUE(inventory.has_value()) << inventory.error().message;
  EXPECT_EQ(inventory->files.version, "550.54.15");
  EXPECT_EQ(inventory->gpus.at(0).uuid, "GPU-x");
  fs::remove_all(folder_ + "/proc/driver/nvidia/gpus");
  Node("/dev/nvidia10");
  const auto by_nodes = FindInventory(settings_, places_);
  ASSERT_EQ(by_nodes->gpus.size(), 3U) << "procfs is not in sight: by the device nodes";
  EXPECT_EQ(by_nodes->gpus[2].minor, 10);
  EXPECT_EQ(by_nodes->gpus[2].index, 2);
}

TEST_F(ModesTest, AModeThatIsNoneIsNamed) {
  settings_.mode = "magic";
  EXPECT_THAT(Start({"NVIDIA_VISIBLE_DEVICES=0"}), HasSubstr("mode magic"));
}

TEST_F(ModesTest, VariablesOfASwarm) {
  settings_.swarm_resources = {"DOCKER_RESOURCE_GPU"};
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=all", "DOCKER_RESOURCE_GPU=GPU-1"}), "");
  EXPECT_THAT(Devices(), ElementsAre("/dev/null", "/dev/nvidia0", "/dev/zero"));
}

TEST_F(ModesTest, SwitchedOffHooks) {
  settings_.jit_disabled_hooks = {"update-ldcache"};
  settings_.disable_cuda_compat = true;
  EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
  const std::vector<std::string> args = config_["hooks"]["createContainer"][0]["args"];
  EXPECT_THAT(args, AllOf(Contains("--disable-device-node-modification"),
                          Not(Contains("--library")), Not(Contains("--host-driver-version"))));
  EXPECT_THAT(args, Contains(format("libcuda.so.535.1::{}libcuda.so.1", kLibraries)))
      << "without its link no library is found";
}

TEST_F(ModesTest, CudaCompatibilityIsSwitchedOffInModeLegacyAlone) {
  for (const auto& [mode, compat, on] :
       {std::tuple{"legacy", "disabled", false}, std::tuple{"legacy", "hook", true},
        std::tuple{"jit-cdi", "disabled", true}}) {
    settings_.mode = mode;
    settings_.cuda_compat_mode = compat;
    EXPECT_EQ(Start({"NVIDIA_VISIBLE_DEVICES=0"}), "");
    const std::string args = config_["hooks"]["createContainer"][0]["args"].dump();
    EXPECT_EQ(args.find("--host-driver-version") != std::string::npos, on) << mode << compat;
  }
}

}  // namespace
}  // namespace gantry::container_runtime
