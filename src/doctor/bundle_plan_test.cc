// SPDX-License-Identifier: Apache-2.0
#include "doctor/bundle_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BundlePlan, WhatOfANodeConcernsGpus) {
  EXPECT_EQ(NodePart(Json::parse(R"({"metadata": {"name": "n", "labels": {"a": "b"}, "uid": "1",
      "annotations": {"flannel.alpha.coreos.com/public-ip": "10.0.0.1",
                      "k3s.io/internal-ip": "10.0.0.1",
                      "nvidia.com/gpu-driver-upgrade-requested": "true",
                      "nfd.node.kubernetes.io/feature-labels": "cpu"}},
      "spec": {"taints": [], "podCIDR": "10.0.0.0/24"},
      "status": {"conditions": [], "capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"},
      "addresses": [{"address": "10.0.0.1"}], "images": [{"names": []}],
      "nodeInfo": {"kernelVersion": "6.1"}}})")),
            Json::parse(R"({"apiVersion": "v1", "kind": "Node",
      "metadata": {"name": "n", "labels": {"a": "b"},
                   "annotations": {"nvidia.com/gpu-driver-upgrade-requested": "true",
                                   "nfd.node.kubernetes.io/feature-labels": "cpu"}},
      "spec": {"taints": []},
      "status": {"conditions": [], "capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"},
      "nodeInfo": {"kernelVersion": "6.1"}}})"));
}

TEST(BundlePlan, ConfigMapsThatThePolicyNames) {
  EXPECT_THAT(NamedConfigMaps(Json::parse(R"({"spec": {
      "devicePlugin": {"config": {"name": "slices"}},
      "dcgmExporter": {"config": {"name": "metrics"}},
      "migManager": {"config": {"name": "layouts"}, "gpuClientsConfig": {"name": "clients"}},
      "driver": {"repoConfig": {"configMapName": "sources"}, "certConfig": {"name": "certificates"},
                 "licensingConfig": {"configMapName": "licence"},
                 "kernelModuleConfig": {"name": "parameters"},
                 "virtualTopology": {"config": "topology"}}}})")),
              ElementsAre("certificates", "clients", "layouts", "licence", "metrics", "parameters",
                          "slices", "sources", "topology"));
  EXPECT_THAT(NamedConfigMaps(Json::parse(R"({"spec": {}})")), IsEmpty());
  EXPECT_THAT(NamedConfigMaps(Json::parse(R"({"spec": {"mig": {"strategy": 5}}})")), IsEmpty());
}

TEST(BundlePlan, LogsOfWhatHasRun) {
  const std::vector<LogPlan> logs =
      LogsOf(Json::parse(R"({"metadata": {"namespace": "a", "name": "p"},
      "status": {"initContainerStatuses": [{"name": "init", "state": {"terminated":
          {"exitCode": 0}}}],
      "containerStatuses": [
          {"name": "waits", "state": {"waiting": {"reason": "ContainerCreating"}}},
          {"name": "crashes", "state": {"waiting": {"reason": "CrashLoopBackOff"}},
           "lastState": {"terminated": {"exitCode": 1}}},
          {"name": "runs", "state": {"running": {}}}]}})"));
  std::vector<std::string> paths;
  std::vector<std::string> troubled;
  for (const LogPlan& log : logs) {
    paths.push_back(PathOf(log));
    if (log.troubled) {
      troubled.push_back(PathOf(log));
    }
  }
  EXPECT_THAT(paths, ElementsAre("logs/p/init.log", "logs/p/crashes.log",
                                 "logs/p/crashes.previous.log", "logs/p/runs.log"));
  EXPECT_THAT(troubled, ElementsAre("logs/p/crashes.log", "logs/p/crashes.previous.log"));
}

TEST(BundlePlan, TroubledContainersComeFirst) {
  const LogPlan well = {.ns = "a", .pod = "well", .node = "n", .container = "c"};
  const LogPlan ill = {.ns = "a", .pod = "ill", .node = "n", .container = "c", .troubled = true};
  const ChosenLogs all = ChooseLogs({well, ill, well}, 3);
  EXPECT_THAT(all.logs, ElementsAre(ill, well, well));
  EXPECT_EQ(all.left, 0U);
  const ChosenLogs some = ChooseLogs({well, ill, well}, 1);
  EXPECT_THAT(some.logs, ElementsAre(ill));
  EXPECT_EQ(some.left, 2U);
}

}  // namespace
}  // namespace gantry::doctor
