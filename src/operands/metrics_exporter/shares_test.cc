// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gantry::metrics_exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr double kMibs = 1 << 20;

Field Named(const char* name) { return *FindField(std::string("DCGM_FI_") + name); }

// Processes 1 and 2 of pod a, 3 of b, 4 of no pod.
DeviceUse Device() {
  DeviceUse device{.processes = {.by_pid = {}, .timed = true}, .utilization = 80, .energy = 1000};
  device.processes.by_pid[1] = {.memory = 100 << 20, .sm = 10};
  device.processes.by_pid[2] = {.memory = 50 << 20, .sm = 20};
  device.processes.by_pid[3] = {.memory = 7 << 20, .sm = 5};
  device.processes.by_pid[4] = {.memory = 1 << 20, .sm = 15};
  return device;
}

const std::map<unsigned, std::string> kPodOf = {{1, "a"}, {2, "a"}, {3, "b"}};

std::vector<gpu::Holder> Holders(const std::vector<std::string>& uids) {
  std::vector<gpu::Holder> holders;
  for (const std::string& uid : uids) {
    holders.push_back({.ns = "team", .pod = uid, .container = "c", .replica = "0", .uid = uid});
  }
  return holders;
}

Portions DivideBy(const char* name, double value, const Uses& uses,
                  const std::vector<std::string>& uids) {
  return *Divide(Named(name), value, uses, Holders(uids));
}

TEST(Shares, OfMemoryAreThePodsProcesses) {
  const Uses uses = UsesOf(Device(), kPodOf, {}, {});
  const Portions portions = DivideBy("DEV_FB_USED", 200, uses, {"a", "b", "idle"});
  EXPECT_THAT(portions.holders, ElementsAre(Optional(150), Optional(7), Optional(0)));
  EXPECT_EQ(portions.other, 43) << "a process of no pod, and the driver's own";
  EXPECT_EQ(portions.rest, std::nullopt);
}

TEST(Shares, OfTimeAndPowerLeaveWhatNoKernelTook) {
  const Uses uses = UsesOf(Device(), kPodOf, {}, {});
  const Portions time = DivideBy("DEV_GPU_UTIL", 80, uses, {"a", "b"});
  EXPECT_THAT(time.holders, ElementsAre(Optional(30), Optional(5)));
  EXPECT_DOUBLE_EQ(time.other, 15);
  EXPECT_DOUBLE_EQ(*time.rest, 30);
  const Portions power = DivideBy("DEV_POWER_USAGE", 200, uses, {"a", "b"});
  EXPECT_THAT(power.holders, ElementsAre(Optional(60), Optional(10)));
  EXPECT_DOUBLE_EQ(power.other, 30);
  EXPECT_DOUBLE_EQ(*power.rest, 100);
  const Portions engine = DivideBy("PROF_GR_ENGINE_ACTIVE", 0.4, uses, {"a"});
  EXPECT_THAT(engine.holders, ElementsAre(Optional(0.15)));
  EXPECT_DOUBLE_EQ(engine.other, 0.1) << "b is no holder by the kubelet's list";
}

TEST(Shares, OfEnergyAddUpAndOutliveNoPod) {
  DeviceUse device = Device();
  Uses uses = UsesOf(device, kPodOf, {}, {});
  EXPECT_EQ(uses.pods.at("a").energy, 0) << "what was before is no pod's";
  device.energy = 2000;
  uses = UsesOf(device, kPodOf, {}, uses);
  device.energy = 2100;
  uses = UsesOf(device, kPodOf, {}, uses);
  Portions portions = DivideBy("DEV_TOTAL_ENERGY_CONSUMPTION", 2100, uses, {"a", "b"});
  EXPECT_THAT(portions.holders, ElementsAre(Optional(330), Optional(55)));
  EXPECT_EQ(portions.other, 165);
  EXPECT_EQ(portions.rest, 1550);
  // Its processes end, later the pod.
  device.processes.by_pid = {{3, device.processes.by_pid[3]}};
  uses = UsesOf(device, kPodOf, std::set<std::string>{"a", "b"}, uses);
  EXPECT_DOUBLE_EQ(uses.pods.at("a").energy, 330);
  uses = UsesOf(device, kPodOf, std::set<std::string>{"b"}, uses);
  EXPECT_FALSE(uses.pods.contains("a"));
  portions = DivideBy("DEV_TOTAL_ENERGY_CONSUMPTION", 2100, uses, {"b"});
  EXPECT_EQ(portions.other, 495) << "a counter never goes back";
  device.energy = 5;
  EXPECT_DOUBLE_EQ(UsesOf(device, kPodOf, {}, uses).pods.at("b").energy, 55)
      << "the driver was loaded anew";
}

TEST(Shares, TogetherAreNoMoreThanTheDevices) {
  DeviceUse device = Device();
  device.utilization = 25;  // of 50 that the processes say: kernels ran at once
  const Uses uses = UsesOf(device, kPodOf, {}, {});
  const Portions time = DivideBy("DEV_GPU_UTIL", 25, uses, {"a", "b"});
  EXPECT_THAT(time.holders, ElementsAre(Optional(15), Optional(2.5)));
  EXPECT_DOUBLE_EQ(time.other, 7.5);
  EXPECT_NEAR(*time.rest, 0, 1e-9);
  const Portions memory = DivideBy("DEV_FB_USED", 100, uses, {"a", "b"});
  EXPECT_THAT(memory.holders, ElementsAre(Optional(95), Optional(4))) << "read before they grew";
  EXPECT_EQ(memory.other, 1);
}

TEST(Shares, OfAPodWithSeveralContainersAreTheFirstOnes) {
  const Uses uses = UsesOf(Device(), kPodOf, {}, {});
  const Portions portions = DivideBy("DEV_FB_USED", 200, uses, {"a", "a", "", "b"});
  EXPECT_THAT(portions.holders,
              ElementsAre(Optional(150), std::nullopt, std::nullopt, Optional(7)));
}

TEST(Shares, AreNotMadeUp) {
  DeviceUse device = Device();
  device.processes.timed = false;  // MIG
  const Uses uses = UsesOf(device, kPodOf, {}, {});
  EXPECT_FALSE(Divide(Named("DEV_POWER_USAGE"), 200, uses, Holders({"a"})).has_value());
  EXPECT_FALSE(Divide(Named("DEV_GPU_TEMP"), 40, uses, Holders({"a"})).has_value());
  EXPECT_TRUE(Divide(Named("DEV_FB_USED"), 200, uses, Holders({"a"})).has_value());
}

// 10 pods on a GPU come and go 200 times.
TEST(Shares, thread_09_HoldTheirSumsWhilePodsComeAndGo) {
  std::mt19937 random(307);
  const auto below = [&random](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  Uses uses;
  double energy = 5000;
  double other_before = 0;
  for (int turn = 0; turn < 200; ++turn) {
    DeviceUse device{.processes = {.by_pid = {}, .timed = true},
                     .utilization = below(101),
                     .energy = energy += below(100'000)};
    std::map<unsigned, std::string> pod_of;
    std::set<std::string> running;
    double used = below(3);
    for (unsigned pid = 1; pid <= below(25); ++pid) {
      device.processes.by_pid[pid] = {.memory = uint64_t{below(3000)} * 999'983,
                                      .sm = static_cast<double>(below(60))};
      used += static_cast<double>(device.processes.by_pid[pid].memory) / kMibs;
      if (below(8) != 0) {
        pod_of[pid] = std::to_string(below(10));
        running.insert(pod_of[pid]);
      }
    }
    for (unsigned i = 0; i < 3; ++i) {
      running.insert(std::to_string(below(10)));
    }
    uses = UsesOf(device, pod_of, running, uses);
    for (const auto& [uid, use] : uses.pods) {
      EXPECT_TRUE(running.contains(uid)) << "outlives its cgroup";
    }
    const std::vector<std::string> uids(running.begin(), running.end());
    for (const auto& [name, value] :
         {std::pair("DEV_FB_USED", std::trunc(used)),
          std::pair("DEV_GPU_UTIL", *device.utilization), std::pair("DEV_POWER_USAGE", 321.5),
          std::pair("DEV_TOTAL_ENERGY_CONSUMPTION", energy)}) {
      const Portions portions = DivideBy(name, value, uses, uids);
      double sum = portions.other + portions.rest.value_or(0);
      for (size_t i = 0; i < uids.size(); ++i) {
        EXPECT_GE(*portions.holders[i], 0) << name;
        sum += *portions.holders[i];
      }
      EXPECT_NEAR(sum, value, std::string(name) == "DEV_FB_USED" ? 0 : 1e-4) << name;
      EXPECT_GE(portions.other, 0);
      EXPECT_GE(portions.rest.value_or(0), -1e-6);
    }
    EXPECT_GE(uses.other.energy, other_before);
    other_before = uses.other.energy;
  }
}

}  // namespace
}  // namespace gantry::metrics_exporter
