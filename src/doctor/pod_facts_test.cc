// SPDX-License-Identifier: Apache-2.0
#include "doctor/pod_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::doctor {
namespace {

TEST(UnreadySince, ItWasBegunOrIsDeleted) {
  Json pod = Json::parse(R"({"metadata": {"creationTimestamp": "1"}, "status": {
      "conditions": [{"type": "Ready", "status": "False"}],
      "containerStatuses": [{"state": {"running": {"startedAt": "2"}}}]}})");
  EXPECT_EQ(UnreadySince(pod), "2");
  pod["metadata"]["deletionTimestamp"] = "3";
  EXPECT_EQ(UnreadySince(pod), "3");
  pod["status"]["conditions"][0]["status"] = "True";
  EXPECT_EQ(UnreadySince(pod), "");
  EXPECT_EQ(UnreadySince(Json::parse(R"({"metadata": {"creationTimestamp": "1"}})")), "1");
}

// A node that was restarted starts its containers anew.
TEST(BegunAt, TheLastOfItsStarts) {
  EXPECT_EQ(BegunAt(Json::parse(R"({"metadata": {"creationTimestamp": "1"}})")), "1");
  EXPECT_EQ(BegunAt(Json::parse(R"({"metadata": {"creationTimestamp": "1"}, "status": {
      "initContainerStatuses": [{"state": {"running": {"startedAt": "3"}}}],
      "containerStatuses": [{"state": {"waiting": {}}}, {"state": {"running":
      {"startedAt": "2"}}}]}})")),
            "3");
}

// Kubernetes' own conditions and states: a sandbox first, then each container.
TEST(IsStarting, WhatItsContainersSay) {
  struct Case {
    const char* status;
    bool starting;
  };
  for (const auto& [status, starting] : std::initializer_list<Case>{
           {R"({"phase": "Pending", "conditions": [
                {"type": "PodReadyToStartContainers", "status": "False"}]})",
            true},
           {R"({"phase": "Pending", "conditions": [
                {"type": "PodReadyToStartContainers", "status": "True"}]})",
            false},
           {R"({"phase": "Pending", "initContainerStatuses": [{"containerID": "containerd://1"}]})",
            false},
           {R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting":
                {"reason": "CreateContainerError"}}}]})",
            true},
           {R"({"phase": "Running", "containerStatuses": [{"state": {"waiting":
                {"reason": "RunContainerError"}}}]})",
            true},
           {R"({"phase": "Running", "containerStatuses": [{"containerID": "containerd://1",
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"reason": "StartError"}}}]})",
            true},
           {R"({"phase": "Failed", "containerStatuses": [{"state": {"terminated":
                {"reason": "StartError"}}}]})",
            true},
           {R"({"phase": "Running", "containerStatuses": [{"state": {"running": {}},
                "lastState": {"terminated": {"reason": "StartError"}}}]})",
            false},
           {R"({"phase": "Running", "containerStatuses": [{"state": {"waiting":
                {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"reason": "Error"}}}]})",
            false}}) {
    EXPECT_EQ(IsStarting(Json{{"status", Json::parse(status)}}), starting) << status;
  }
}

TEST(IsStarting, UntilItRunsOrGoes) {
  EXPECT_TRUE(IsStarting(Json::parse(R"({"status": {"phase": "Pending"}})")));
  EXPECT_FALSE(IsStarting(Json::parse(R"({"status": {"phase": "Running"}})")));
  EXPECT_FALSE(IsStarting(Json::parse(
      R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Pending"}})")));
}

}  // namespace
}  // namespace gantry::doctor
