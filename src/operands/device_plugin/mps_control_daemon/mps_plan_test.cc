// SPDX-License-Identifier: Apache-2.0
#include "operands/device_plugin/mps_control_daemon/mps_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/variables.h"
#include "operands/device_plugin/mps_control_daemon/mps_control_daemon.h"
#include "operands/device_plugin/testing/settings.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

Settings ByMps(int replicas, policy::SharedDevices devices = {}, bool rename = false) {
  auto settings = Shared(replicas, rename, true);
  settings.sharing.strategy = policy::SharingStrategy::kMps;
  settings.sharing.resources[0].devices = std::move(devices);
  return settings;
}

std::optional<MpsPlan> PlanOf(const std::vector<gpu::Gpu>& gpus, const Settings& settings) {
  const auto set = SetOf(gpus);
  return PlanMps(OfferedResources(set, settings, {}), set);
}

TEST(MpsPlan, EveryGpuOfTheResourceWithAShareOfItsMemory) {
  auto gpus = Gpus(2);
  gpus[1].memory_mib = 81920;
  const auto plan = PlanOf(gpus, ByMps(4));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->resource, "nvidia.com/gpu");
  EXPECT_THAT(plan->gpus, ElementsAre(MpsPlan::Gpu{"GPU-0", 3840}, MpsPlan::Gpu{"GPU-1", 20480}));
  EXPECT_THAT(MpsCommands(*plan), ElementsAre("set_default_device_pinned_mem_limit 0 3840M",
                                              "set_default_device_pinned_mem_limit 1 20480M",
                                              "set_default_active_thread_percentage 25"));
}

TEST(MpsPlan, Kdp628OnlyTheGpusThatAreNamedAreShared) {
  const auto plan = PlanOf(Gpus(4), ByMps(3, {.count = 0, .list = {"1", "3"}}, true));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->resource, "nvidia.com/gpu.shared");
  EXPECT_THAT(MpsEnvironment(*plan),
              IsSupersetOf({"CUDA_VISIBLE_DEVICES=GPU-1,GPU-3",
                            "CUDA_MPS_PIPE_DIRECTORY=/mps/nvidia.com/gpu.shared/pipe",
                            "CUDA_MPS_LOG_DIRECTORY=/mps/nvidia.com/gpu.shared/log"}));
  EXPECT_THAT(MpsCommands(*plan), ElementsAre("set_default_device_pinned_mem_limit 0 5120M",
                                              "set_default_device_pinned_mem_limit 1 5120M",
                                              "set_default_active_thread_percentage 33"))
      << "counted among the GPUs that the daemon sees";
}

TEST(MpsPlan, NoSharesNoPlan) {
  EXPECT_FALSE(PlanOf(Gpus(2), With({ListStrategy::kCdiCri})));
  EXPECT_FALSE(PlanOf({}, ByMps(4)));
  auto old = Gpus(1);
  old[0].compute_major = 6;
  EXPECT_FALSE(PlanOf(old, ByMps(20))) << "more clients than it takes";
}

TEST(MpsPlan, AGpuThatDoesNotTellItsMemoryHasNoLimit) {
  auto gpus = Gpus(1);
  gpus[0].memory_mib = 0;
  EXPECT_THAT(MpsCommands(*PlanOf(gpus, ByMps(2))),
              ElementsAre("set_default_active_thread_percentage 50"));
}

TEST(MpsPlan, ComesThroughText) {
  const auto plan = PlanOf(Gpus(3), ByMps(5));
  const auto read = ReadMpsPlan(MpsPlanText(plan, {"one", "two"}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->plan, plan);
  EXPECT_THAT(read->left_out, ElementsAre("one", "two"));
  const auto none = ReadMpsPlan(MpsPlanText(std::nullopt, {}));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->plan);
  EXPECT_FALSE(ReadMpsPlan("{"));
}

TEST(MpsShm, HalfOfTheMemory) {
  EXPECT_EQ(MpsShmOptions("MemTotal:       16384000 kB\nMemFree:  1 kB\n"), "size=8192000k");
  EXPECT_EQ(MpsShmOptions("MemFree:  1 kB\n"), "size=65536k");
  EXPECT_EQ(MpsShmOptions("MemTotal: many\n"), "size=65536k");
  EXPECT_EQ(MpsShmOptions(""), "size=65536k");
}

Result<std::optional<MpsCommandLine>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "mps-control-daemon");
  return ParseMpsCommandLine(static_cast<int>(words.size()), words.data());
}

// Flags and variables of NVIDIA's, and those of the config manager beside it.
TEST(MpsCommandLine, FlagsAndVariables) {
  const Variables file({{"CONFIG_FILE", "/config/config.yaml"}});
  const Variables strategy({{"MIG_STRATEGY", "single"}});
  const Variables node({{"NODE_NAME", "n1"}});
  const Variables folder({{"CONFIG_FILE_SRCDIR", "/available-configs"}});
  const Variables fallback({{"FALLBACK_STRATEGIES", "named, single"}});
  const auto line = Parse({});
  ASSERT_TRUE(line && *line);
  const auto& flags = (*line)->flags;
  EXPECT_EQ(flags.config_file, "/config/config.yaml");
  EXPECT_EQ(flags.mig_strategy, "single");
  EXPECT_EQ(flags.node_name, "n1");
  EXPECT_EQ(flags.node_label, names::kDevicePluginConfig);
  EXPECT_EQ(flags.config_dir, "/available-configs");
  EXPECT_THAT(flags.fallback_strategies, ElementsAre("named", "single"));
  EXPECT_EQ(flags.mps_root, "/mps");
  EXPECT_FALSE((*line)->mount_shm);
  const auto by_flags = Parse({"--config-file=/c", "--mig-strategy=none"});
  ASSERT_TRUE(by_flags && *by_flags);
  EXPECT_EQ((*by_flags)->flags.config_file, "/c");
  EXPECT_EQ((*by_flags)->flags.mig_strategy, "none");
}

TEST(MpsCommandLine, MountShmIsAWord) {
  const auto line = Parse({"mount-shm"});
  ASSERT_TRUE(line && *line);
  EXPECT_TRUE((*line)->mount_shm);
  const auto wrong = Parse({"mount"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("read the command line"));
}

}  // namespace
}  // namespace gantry::device_plugin
