// SPDX-License-Identifier: Apache-2.0
#include "doctor/container_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/text.h"

namespace gantry::doctor {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

std::vector<ContainerFacts> Troubled(const char* status) {
  Json pod = *ParseJson(R"({"metadata": {"namespace": "a", "name": "p", "labels": {"app": "x"}},
      "spec": {"nodeName": "n1", "initContainers": [{"name": "init"}, {"name": "side",
      "restartPolicy": "Always"}], "containers": [{"name": "main", "resources": {"limits":
      {"memory": "64Mi"}}}]}})");
  pod["status"] = *ParseJson(status);
  return TroubledContainers(pod);
}

// A side car runs beside all that come after it.
TEST(PodWants, AsTheSchedulerCounts) {
  struct Case {
    const char* containers;  // init containers and others: GPUs, and a side car's star
    long long gpus;
  };
  const auto wants = [](const char* containers) {
    Json pod;
    const std::vector<std::string> lists = Split(containers, '|');
    for (size_t i = 0; i < lists.size(); ++i) {
      for (const std::string& each : Split(lists[i], ' ')) {
        if (each.empty()) {
          continue;
        }
        Json container;
        container["resources"]["limits"]["nvidia.com/gpu"] = each.substr(0, 1);
        if (each.ends_with('*')) {
          container["restartPolicy"] = "Always";
        }
        pod["spec"][i == 0 ? "initContainers" : "containers"].push_back(container);
      }
    }
    return PodWants(pod);
  };
  for (const auto& [containers, gpus] : std::initializer_list<Case>{{"|1 2", 3},
                                                                    {"4 1|1 2", 4},
                                                                    {"2|1 2", 3},
                                                                    {"1*|2", 3},
                                                                    {"1* 1*|2", 4},
                                                                    {"1* 4|2", 5},
                                                                    {"4 1*|2", 4},
                                                                    {"1*|", 1},
                                                                    {"3|", 3}}) {
    EXPECT_EQ(wants(containers), (GpuCounts{{"nvidia.com/gpu", gpus}})) << containers;
  }
  EXPECT_THAT(wants("0|0"), IsEmpty());
}

// The network operator's resources have NVIDIA's domain too; a name that is mistyped is no such.
TEST(PodWants, GpusAlone) {
  for (const char* name : {"nvidia.com/gpu", "nvidia.com/gpus", "nvidia.com/mig-1g.5gb",
                           "nvidia.com/gpu.shared", "nvidia.com/GA102GL_A10"}) {
    const Json resources = {{name, "1"}};
    EXPECT_EQ(GpusIn(&resources), (GpuCounts{{name, 1}}));
  }
  for (const char* name : {"nvidia.com/hostdev", "nvidia.com/mlnxnics", "nvidia.com/rdma_host_dev",
                           "nvidia.com/sriov_rdma_vf", "rdma/rdma_shared_device_a", "cpu"}) {
    const Json resources = {{name, "1"}};
    EXPECT_THAT(GpusIn(&resources), IsEmpty()) << name;
  }
}

TEST(TroubledContainers, WhatTheKubeletSays) {
  const auto troubled = Troubled(R"({"startTime": "1", "containerStatuses": [{"name": "main",
      "image": "i", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff",
      "message": "back-off"}}, "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137,
      "finishedAt": "2", "message": "killed"}}}]})");
  ASSERT_EQ(troubled.size(), 1U);
  EXPECT_EQ(troubled[0].app, "x");
  EXPECT_EQ(troubled[0].node, "n1");
  EXPECT_EQ(troubled[0].waiting, "CrashLoopBackOff");
  EXPECT_EQ(troubled[0].ended, "OOMKilled");
  EXPECT_EQ(troubled[0].ended_at, "2");
  EXPECT_EQ(troubled[0].last_words, "killed");
  EXPECT_FALSE(troubled[0].over);
  EXPECT_EQ(troubled[0].exit_code, 137);
  EXPECT_EQ(troubled[0].restarts, 3);
  EXPECT_EQ(troubled[0].memory_limit, "64Mi");
}

TEST(TroubledContainers, WhetherItEndsAgainAndAgain) {
  const WallTime now(hours(24 * 365 * 56));
  ContainerFacts container;
  container.waiting = "CrashLoopBackOff";
  EXPECT_TRUE(EndsAgain(container, now));
  container.waiting = "";
  EXPECT_FALSE(EndsAgain(container, now));
  container.exit_code = 1;
  container.restarts = 1;
  container.ended_at = Rfc3339(now - minutes(59));
  EXPECT_TRUE(EndsAgain(container, now));
  struct Case {
    const char* what;
    void (*change)(ContainerFacts& container);
  };
  for (const auto& [what, change] : std::initializer_list<Case>{
           {"it is ready", [](ContainerFacts& facts) { facts.ready = true; }},
           {"its first run", [](ContainerFacts& facts) { facts.restarts = 0; }},
           {"it succeeded", [](ContainerFacts& facts) { facts.exit_code = 0; }},
           {"it waits for something else",
            [](ContainerFacts& facts) { facts.waiting = "CreateContainerConfigError"; }},
           {"it could not be started, and runs",
            [](ContainerFacts& facts) { facts.ended = "StartError"; }},
           {"long ago", [](ContainerFacts& facts) { facts.ended_at = "2000-01-01T00:00:00Z"; }}}) {
    ContainerFacts changed = container;
    change(changed);
    EXPECT_FALSE(EndsAgain(changed, now)) << what;
  }
}

TEST(TroubledContainers, WhetherItFailsNow) {
  const WallTime now(hours(24 * 365 * 56));
  ContainerFacts container;
  container.exit_code = 1;
  container.ended_at = Rfc3339(now - minutes(59));
  EXPECT_TRUE(FailsNow(container, now));
  container.exit_code = 0;
  EXPECT_FALSE(FailsNow(container, now));
  container.exit_code = 1;
  container.ended_at = Rfc3339(now - minutes(61));
  EXPECT_FALSE(FailsNow(container, now));
  container.waiting = "CrashLoopBackOff";
  EXPECT_TRUE(FailsNow(container, now));
  // Of a pod that is over: its log is that of the run which failed.
  const auto over = Troubled(R"({"containerStatuses": [{"name": "main", "state": {"terminated":
      {"reason": "Error", "exitCode": 1}}}]})");
  ASSERT_EQ(over.size(), 1U);
  EXPECT_TRUE(over[0].over);
}

// Of pods that failed: a side car and other workers are ended after the one that fails.
TEST(TroubledContainers, WhichRunsMaySayWhy) {
  struct Run {
    const char* name;
    long long exit_code;
    const char* ended_at;
  };
  std::vector<ContainerFacts> runs;
  for (const auto& [name, exit_code, ended_at] :
       std::initializer_list<Run>{{"side car", 143, "2026-01-01T00:00:09Z"},
                                  {"worker", 1, "2026-01-01T00:00:03Z"},
                                  {"killed", 137, "2026-01-01T00:00:08Z"},
                                  {"first", 1, "2026-01-01T00:00:01Z"},
                                  {"last", 2, "2026-01-01T00:00:05Z"}}) {
    ContainerFacts run;
    run.container = name;
    run.exit_code = exit_code;
    run.ended_at = ended_at;
    KeepTelling(runs, run);
  }
  EXPECT_THAT(runs, ElementsAre(Field(&ContainerFacts::container, "last"),
                                Field(&ContainerFacts::container, "worker"),
                                Field(&ContainerFacts::container, "first"),
                                Field(&ContainerFacts::container, "side car")));
}

TEST(TroubledContainers, WhatIsNoTrouble) {
  for (const char* status :
       {R"({})", R"({"containerStatuses": [{"name": "main", "state": {"running": {}}}]})",
        R"({"initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0,
            "reason": "Completed"}}}], "containerStatuses": [{"name": "main",
            "state": {"waiting": {"reason": "PodInitializing"}}}]})",
        R"({"initContainerStatuses": [{"name": "side", "state": {"running":
            {"startedAt": "1"}}}]})"}) {
    EXPECT_THAT(Troubled(status), IsEmpty()) << status;
  }
}

TEST(TroubledContainers, WhatWaits) {
  const auto init = Troubled(
      R"({"initContainerStatuses": [{"name": "init", "state": {"running": {"startedAt": "1"}}}]})");
  ASSERT_EQ(init.size(), 1U);
  EXPECT_TRUE(init[0].init);
  EXPECT_EQ(init[0].since, "1");
  const auto made = Troubled(R"({"startTime": "1", "containerStatuses": [{"name": "main",
      "state": {"waiting": {"reason": "ContainerCreating"}}}]})");
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].since, "1");
}

// Where there are init containers the kubelet has one word for all that have not begun.
TEST(TroubledContainers, APodWithoutItsSandbox) {
  const auto troubled = Troubled(R"({"startTime": "1", "initContainerStatuses": [
      {"name": "init", "state": {"waiting": {"reason": "PodInitializing"}}},
      {"name": "side", "state": {"waiting": {"reason": "PodInitializing"}}}],
      "containerStatuses": [{"name": "main", "state": {"waiting":
      {"reason": "PodInitializing"}}}]})");
  ASSERT_EQ(troubled.size(), 1U);
  EXPECT_EQ(troubled[0].container, "init");
  EXPECT_EQ(troubled[0].waiting, "ContainerCreating");
  EXPECT_EQ(troubled[0].since, "1");
}

// One label may be that of several DaemonSets: a driver for each kernel.
TEST(TroubledContainers, AreCalledByTheirDaemonSet) {
  const auto troubled = TroubledContainers(*ParseJson(R"({"metadata": {"labels": {"app": "x"},
      "ownerReferences": [{"kind": "DaemonSet", "name": "x-5.15", "controller": true}]},
      "status": {"containerStatuses": [{"ready": true, "state": {"waiting":
      {"reason": "CrashLoopBackOff"}}}]}})"));
  ASSERT_EQ(troubled.size(), 1U);
  EXPECT_EQ(troubled[0].app, "x-5.15");
  EXPECT_TRUE(troubled[0].ready);
}

TEST(TroubledContainers, APodThatGoesIsNoTrouble) {
  EXPECT_THAT(TroubledContainers(*ParseJson(R"({"metadata": {"deletionTimestamp": "1"}, "status": {
      "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}})")),
              IsEmpty());
}

}  // namespace
}  // namespace gantry::doctor
