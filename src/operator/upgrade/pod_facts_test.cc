// SPDX-License-Identifier: Apache-2.0

#include "operator/upgrade/pod_facts.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator::upgrade {
namespace {

Json Pod(const char* text) { return Json::parse(text); }

TEST(PodFacts, ADriversPod) {
  const PodFacts facts = ProjectPod(Pod(R"({
      "metadata": {"uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z",
                   "labels": {"controller-revision-hash": "abc"}, "ownerReferences": [
          {"kind": "Other", "name": "x"},
          {"kind": "DaemonSet", "name": "nvidia-driver-daemonset", "controller": true}]},
      "spec": {"nodeName": "n1",
               "containers": [{"env": [{"name": "A"}, {"name": "DRIVER_CONFIG_DIGEST", "value": "7"}]}]},
      "status": {"phase": "Running", "containerStatuses": [{"name": "c", "ready": true}]}})"));
  EXPECT_EQ(facts, (PodFacts{.node = "n1",
                             .uid = "u",
                             .created = "2026-01-02T03:04:05Z",
                             .revision = "abc",
                             .daemon_set = "nvidia-driver-daemonset",
                             .digest = "7",
                             .managed = true,
                             .ready = true}));
}

TEST(PodFacts, WhatIsMissingIsNothing) { EXPECT_EQ(ProjectPod(Json::object()), PodFacts()); }

TEST(PodFacts, WhoManagesIt) {
  const PodFacts job = ProjectPod(Pod(
      R"({"metadata": {"ownerReferences": [{"kind": "Job", "name": "j", "controller": true}]}})"));
  EXPECT_TRUE(job.managed);
  EXPECT_EQ(job.daemon_set, "");
  const PodFacts mirror =
      ProjectPod(Pod(R"({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}})"));
  EXPECT_TRUE(mirror.mirror);
  EXPECT_FALSE(mirror.managed);
}

TEST(PodFacts, WhatUsesGpus) {
  const auto uses = [](const char* spec) {
    return ProjectPod({{"spec", Json::parse(spec)}}).uses_gpus;
  };
  EXPECT_TRUE(uses(R"({"containers": [{}, {"resources": {"limits": {"nvidia.com/gpu": "1"}}}]})"));
  EXPECT_TRUE(
      uses(R"({"containers": [{"resources": {"requests": {"nvidia.com/gpu.shared": "1"}}}]})"));
  EXPECT_TRUE(
      uses(R"({"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}]})"));
  EXPECT_TRUE(uses(R"({"initContainers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]})"));
  EXPECT_FALSE(
      uses(R"({"containers": [{"resources": {"limits": {"cpu": "1", "amd.com/gpu": 1}}}]})"));
}

TEST(PodFacts, ClaimsByNameAndFromTemplates) {
  EXPECT_EQ(ProjectPod(Pod(R"({"spec": {"resourceClaims": [
                {"name": "a", "resourceClaimName": "mine"},
                {"name": "b", "resourceClaimTemplateName": "t"}]},
                "status": {"resourceClaimStatuses": [
                {"name": "b", "resourceClaimName": "p-b-x7"}, {"name": "c"}]}})"))
                .claims,
            (std::vector<std::string>{"mine", "p-b-x7"}));
}

TEST(HoldsGpus, OfNvidiasDriverForWork) {
  const auto holds = [](const char* results) {
    return HoldsGpus(
        {{"status", {{"allocation", {{"devices", {{"results", Json::parse(results)}}}}}}}});
  };
  EXPECT_TRUE(holds(R"([{"driver": "other"}, {"driver": "gpu.nvidia.com"}])"));
  EXPECT_TRUE(holds(R"([{"driver": "gpu.nvidia.com", "adminAccess": false}])"));
  EXPECT_FALSE(holds(R"([{"driver": "gpu.nvidia.com", "adminAccess": true}])"));
  EXPECT_FALSE(holds(R"([{"driver": "compute-domain.nvidia.com"}])"));
  EXPECT_FALSE(HoldsGpus(Json::object()));
  EXPECT_FALSE(HoldsGpus(Json()));
}

TEST(PodFacts, VolumesPhaseAndEnd) {
  const PodFacts facts = ProjectPod(Pod(R"({"metadata": {"deletionTimestamp": "t"},
      "spec": {"volumes": [{"name": "a", "hostPath": {}}, {"name": "b", "emptyDir": {}}]},
      "status": {"phase": "Succeeded"}})"));
  EXPECT_TRUE(facts.has_empty_dir);
  EXPECT_TRUE(facts.deleting);
  EXPECT_TRUE(facts.finished);
  EXPECT_TRUE(ProjectPod(Pod(R"({"status": {"phase": "Failed"}})")).finished);
  EXPECT_FALSE(ProjectPod(Pod(R"({"status": {"phase": "Pending"}})")).finished);
}

TEST(PodFacts, ReadyIsEveryContainerOfARunningPod) {
  const auto ready = [](const char* status) {
    return ProjectPod({{"status", Json::parse(status)}}).ready;
  };
  EXPECT_TRUE(ready(R"({"phase": "Running", "containerStatuses": [{"ready": true}]})"));
  EXPECT_FALSE(
      ready(R"({"phase": "Running", "containerStatuses": [{"ready": true}, {"ready": false}]})"));
  EXPECT_FALSE(
      ready(R"({"phase": "Running", "containerStatuses": [{"ready": false}, {"ready": true}]})"));
  EXPECT_FALSE(ready(R"({"phase": "Pending", "containerStatuses": [{"ready": true}]})"));
  EXPECT_FALSE(ready(R"({"phase": "Running"})"));
}

TEST(PodFacts, TheTroubleOfTheContainerThatTheOthersWaitFor) {
  const PodFacts facts = ProjectPod(Pod(R"({"status": {"phase": "Pending",
      "initContainerStatuses": [{"name": "manager", "ready": false, "restartCount": 11,
          "lastState": {"terminated": {"reason": "Error", "exitCode": 1,
                                       "message": "unload the driver:\nit is in use\n"}},
          "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off\n5m"}}}],
      "containerStatuses": [{"name": "driver", "ready": false, "restartCount": 0,
          "state": {"waiting": {"reason": "PodInitializing"}}}]}})"));
  EXPECT_EQ(facts.trouble, "manager: Error, exit code 1: unload the driver: it is in use");
  EXPECT_TRUE(facts.given_up);
  EXPECT_TRUE(facts.init_fails);
}

TEST(PodFacts, TheTroubleIsWhyAContainerEndedNotThatItIsTriedAgain) {
  const auto facts = [](const char* list, const char* status) {
    Json whole = Json::parse(status);
    whole.update({{"name", "c"}, {"ready", false}});
    return ProjectPod({{"status", {{list, Json::array({whole})}}}});
  };
  const auto trouble = [&](const char* status) {
    EXPECT_FALSE(facts("containerStatuses", status).init_fails);
    return facts("containerStatuses", status).trouble;
  };
  constexpr char kAgain[] = R"({"restartCount": 3, "state": {"running": {}},
      "lastState": {"terminated": {"reason": "Error", "exitCode": 3, "message": "why"}}})";
  EXPECT_EQ(trouble(kAgain), "c: Error, exit code 3: why");
  EXPECT_EQ(facts("initContainerStatuses", kAgain).trouble, "c: Error, exit code 3: why");
  EXPECT_TRUE(facts("initContainerStatuses", kAgain).init_fails);
  EXPECT_EQ(trouble(R"({"restartCount": 2, "state": {"waiting": {"reason": "ErrImagePull"}},
                        "lastState": {"terminated": {"reason": "Error", "exitCode": 3}}})"),
            "c: ErrImagePull");
  EXPECT_EQ(trouble(R"({"state": {"waiting": {"reason": "CrashLoopBackOff"}}})"),
            "c: CrashLoopBackOff");
  EXPECT_EQ(trouble(R"({"restartCount": 1,
                        "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
                        "lastState": {"terminated": {"reason": "Error", "exitCode": 3}}})"),
            "c: OOMKilled, exit code 137");
  EXPECT_EQ(trouble(R"({"state": {"running": {}}})"), "");
  EXPECT_FALSE(facts("initContainerStatuses", R"({"restartCount": 2})").init_fails);
  const PodFacts rebooted = facts("initContainerStatuses", R"({"restartCount": 5,
      "state": {"running": {}},
      "lastState": {"terminated": {"reason": "Completed", "exitCode": 0}}})");
  EXPECT_FALSE(rebooted.init_fails);
  EXPECT_EQ(rebooted.trouble, "");
  EXPECT_EQ(facts("initContainerStatuses", R"({"state": {"running": {}}})").trouble, "");
}

TEST(PodFacts, TenRestartsAreNotTooMany) {
  const auto facts = [](int restarts, bool ready) {
    return ProjectPod(
        {{"status",
          {{"containerStatuses",
            Json::array({{{"name", "d"}, {"ready", ready}, {"restartCount", restarts}}})}}}});
  };
  EXPECT_FALSE(facts(10, false).given_up);
  EXPECT_TRUE(facts(11, false).given_up);
  EXPECT_FALSE(facts(11, true).given_up);
  EXPECT_EQ(facts(0, false).trouble, "");
}

TEST(PodFacts, ALongTroubleIsCut) {
  const std::string message(1000, 'x');
  Json state = {{"terminated", {{"reason", "Error"}, {"message", message}}}};
  const Json pod = {
      {"status",
       {{"containerStatuses", Json::array({{{"name", "d"}, {"state", std::move(state)}}})}}}};
  EXPECT_EQ(ProjectPod(pod).trouble.size(), 300U);
}

TEST(RevisionFacts, OfADaemonSet) {
  Json revision = Pod(R"({
      "metadata": {"labels": {"controller-revision-hash": "abc"},
                   "ownerReferences": [{"kind": "DaemonSet", "name": "d", "controller": true}]},
      "revision": 3,
      "data": {"spec": {"template": {"spec": {
          "nodeSelector": {"nvidia.com/gpu.deploy.driver": "true", "pool": "a"},
          "containers": [{"env": [{"name": "DRIVER_CONFIG_DIGEST", "value": "7"}]}]}}}}})");
  const RevisionFacts facts = ProjectRevision(revision);
  EXPECT_EQ(facts, (RevisionFacts{.daemon_set = "d",
                                  .hash = "abc",
                                  .digest = "7",
                                  .number = 3,
                                  .nodes = "nvidia.com/gpu.deploy.driver=true\n",
                                  .pods = facts.pods}))
      << "of a label of the user's own nothing is kept";
  Json& pods = revision["data"]["spec"]["template"]["spec"];
  pods["nodeSelector"]["pool"] = "b";
  EXPECT_EQ(ProjectRevision(revision).pods, facts.pods) << "the pods are the same for other nodes";
  pods["hostPID"] = true;
  EXPECT_NE(ProjectRevision(revision).pods, facts.pods);
  EXPECT_EQ(ProjectRevision(Json::object()), RevisionFacts());
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
