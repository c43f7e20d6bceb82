// SPDX-License-Identifier: Apache-2.0
// One call of Gantry's program, or NVIDIA's hooks by their own names.
#include "container/cdi_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::container {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr HookSwitches kAllOn = {};

HookWork EveryWork() {
  HookWork work;
  work.links = {{"libcuda.so.1", "/usr/lib64/libcuda.so"}};
  work.driver_version = "535.1";
  work.cuda_version = "12.2";
  work.libraries = {{"libcuda.so.1", "/usr/lib64/libcuda.so.535.1"},
                    {"libvdpau_nvidia.so.1", "/usr/lib64/vdpau/libvdpau_nvidia.so.535.1"},
                    {"libnvidia-x.so.1", "/usr/lib64/libnvidia-x.so.1"}};
  work.disable_device_node_modification = true;
  work.update_application_profile = true;
  return work;
}

std::vector<std::string> Calls(const HookProgram& program, const HookSwitches& switches,
                               const HookWork& work) {
  std::vector<std::string> calls;
  for (const CdiHook& hook : HooksFor(program, switches, work)) {
    EXPECT_EQ(hook.name, "createContainer");
    EXPECT_EQ(hook.path, program.path);
    EXPECT_THAT(hook.env, ElementsAre("NVIDIA_CTK_DEBUG=false"));
    calls.push_back(Join(hook.args, " "));
  }
  return calls;
}

TEST(CdiHooks, AProgramThatWasNotSeenToBeGantrysGetsWhatEveryReleaseOfNvidiasKnows) {
  EXPECT_THAT(
      Calls({"/usr/bin/nvidia-cdi-hook"}, kAllOn, EveryWork()),
      ElementsAre("nvidia-cdi-hook create-symlinks --link libcuda.so.1::/usr/lib64/libcuda.so",
                  "nvidia-cdi-hook enable-cuda-compat --host-driver-version 535.1",
                  "nvidia-cdi-hook update-ldcache --folder /usr/lib64 --folder /usr/lib64/vdpau"));
  HookWork links;
  links.device_links = {{"../card1", "/dev/dri/by-path/pci-0000:01:00.0-card"}};
  EXPECT_THAT(Calls({"/usr/bin/nvidia-ctk"}, kAllOn, links),
              ElementsAre("nvidia-ctk hook create-symlinks --link "
                          "../card1::/dev/dri/by-path/pci-0000:01:00.0-card"));
  EXPECT_THAT(Calls({"/usr/bin/nvidia-ctk"}, kAllOn, {}), IsEmpty()) << "there is nothing to do";
  EXPECT_THAT(Calls({}, kAllOn, EveryWork()), IsEmpty()) << "there is no program";
}

TEST(CdiHooks, GantrysDoesAllInOneCall) {
  EXPECT_THAT(
      Calls({"/t/nvidia-cdi-hook", true}, kAllOn, EveryWork()),
      ElementsAre("nvidia-cdi-hook create-container --link libcuda.so.1::/usr/lib64/libcuda.so "
                  "--host-driver-version 535.1 --host-cuda-version 12.2 "
                  "--library libcuda.so.1=/usr/lib64/libcuda.so.535.1 "
                  "--library libvdpau_nvidia.so.1=/usr/lib64/vdpau/libvdpau_nvidia.so.535.1 "
                  "--library libnvidia-x.so.1=/usr/lib64/libnvidia-x.so.1 "
                  "--disable-device-node-modification --update-application-profile"));
  EXPECT_THAT(Calls({"/t/nvidia-cdi-hook", true}, kAllOn, {}), IsEmpty());
}

// Without its link no program finds a library, with the linker's cache or without.
TEST(CdiHooks, LinksBySonameAreOfCreateSymlinks) {
  const HookSwitches no_cache = {{"update-ldcache"}, {}};
  const std::string links =
      "--link libcuda.so.1::/usr/lib64/libcuda.so "
      "--link libcuda.so.535.1::/usr/lib64/libcuda.so.1 "
      "--link libvdpau_nvidia.so.535.1::/usr/lib64/vdpau/libvdpau_nvidia.so.1";
  EXPECT_THAT(Calls({"/t/h", true}, no_cache, EveryWork()),
              ElementsAre("h create-container " + links +
                          " --host-driver-version 535.1 --host-cuda-version 12.2 "
                          "--disable-device-node-modification --update-application-profile"));
  EXPECT_THAT(Calls({"/t/h"}, no_cache, EveryWork()),
              ElementsAre("h create-symlinks " + links,
                          "h enable-cuda-compat --host-driver-version 535.1"));
  EXPECT_THAT(Calls({"/t/h"}, {{"update-ldcache", "create-symlinks"}, {}}, EveryWork()),
              ElementsAre("h enable-cuda-compat --host-driver-version 535.1"));
  EXPECT_THAT(Calls({"/t/h"}, {{"all"}, {"update-ldcache"}}, EveryWork()),
              ElementsAre("h update-ldcache --folder /usr/lib64 --folder /usr/lib64/vdpau"));
}

}  // namespace
}  // namespace gantry::container
