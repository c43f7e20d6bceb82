// SPDX-License-Identifier: Apache-2.0
#include "doctor/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::doctor {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::Key;

Json Warning(const char* kind, const char* name, const char* reason, const char* message,
             const char* at) {
  return {{"involvedObject", {{"kind", kind}, {"namespace", "ns"}, {"name", name}}},
          {"reason", reason},
          {"message", message},
          {"lastTimestamp", at}};
}

NodeFacts ExplainedNode(const Warnings& warnings, const char* validation) {
  NodeFacts node;
  node.name = "n1";
  node.labels = {{"nvidia.com/gpu.validation", validation}};
  warnings.Explain(node);
  return node;
}

TEST(Warnings, OfANodeTheValidatorsReasonCounts) {
  Warnings warnings;
  warnings.Take(Warning("Node", "n1", "CudaFails", "new", "2026-01-01T00:00:02Z"), false);
  warnings.Take(Warning("Node", "n1", "CudaFails", "old", "2026-01-01T00:00:01Z"), false);
  EXPECT_EQ(ExplainedNode(warnings, "CudaFails").validator_says, "new");
  EXPECT_EQ(ExplainedNode(warnings, "CudaHangs").validator_says, "");
}

TEST(Warnings, OfANodeTheDevicePluginsLastEventCounts) {
  Warnings warnings;
  warnings.Take(Warning("Node", "n1", "GPUNotOffered", "a", "2026-01-01T00:00:01Z"), false);
  warnings.Take(Warning("Node", "n1", "NVMLNotUsable", "b", "2026-01-01T00:00:02Z"), false);
  warnings.Take(Warning("Node", "n1", "Rebooted", "c", "2026-01-01T00:00:03Z"), false);
  const NodeFacts node = ExplainedNode(warnings, "");
  EXPECT_EQ(node.not_offered, "b");
  EXPECT_EQ(node.not_offered_for, "NVMLNotUsable");
}

TEST(Warnings, OfPodsAndOfWhatMakesThem) {
  constexpr char kAt[] = "2026-01-01T00:00:01Z";
  Warnings warnings;
  warnings.Take(Warning("Pod", "a", "Failed", "unresolvable CDI devices x", kAt), false);
  warnings.Take(Warning("Pod", "b", "BackOff", "Back-off restarting", kAt), false);
  warnings.Take(Warning("ReplicaSet", "c", "FailedCreate", "exceeded quota: q", kAt), false);
  warnings.Take(Warning("ReplicaSet", "d", "Other", "x", kAt), false);
  EXPECT_THAT(warnings.unstarted(), ElementsAre(Key(kube::Key{"ns", "a"})));
  EXPECT_THAT(warnings.restarting(), ElementsAre(kube::Key{"ns", "b"}));
  EXPECT_THAT(warnings.refused(), ElementsAre(Key(Involved{"ReplicaSet", {"ns", "c"}})));
}

// Only in the operator's namespace, where its containers are.
TEST(Warnings, WhyAnImageIsNotPulled) {
  const WallTime now(hours(24 * 365 * 56));
  const Json pod = {{"metadata", {{"namespace", "ns"}, {"name", "p"}}}};
  for (const bool in_operators_namespace : {true, false}) {
    Warnings warnings;
    warnings.Take(Warning("Pod", "p", "Failed", "Failed to pull image \"r/x:1\": no such host", ""),
                  in_operators_namespace);
    ContainerFacts container;
    container.image = "r/x:1";
    container.message = "Back-off pulling image \"r/x:1\"";
    warnings.Explain(pod, container, now);
    EXPECT_EQ(container.message.find("no such host") != std::string::npos, in_operators_namespace);
  }
}

TEST(Warnings, APullSecretIsMissingForAWhile) {
  const WallTime now(hours(24 * 365 * 56));
  const Json pod = {{"metadata", {{"namespace", "ns"}, {"name", "p"}}}};
  for (const auto& [ago, counts] : {std::pair(minutes(29), true), std::pair(minutes(31), false)}) {
    Warnings warnings;
    warnings.Take(Warning("Pod", "p", "FailedToRetrieveImagePullSecret", "ngc-secret",
                          Rfc3339(now - ago).c_str()),
                  true);
    ContainerFacts container;
    warnings.Explain(pod, container, now);
    EXPECT_EQ(container.lacks_secrets, counts ? "ngc-secret" : "");
  }
}

}  // namespace
}  // namespace gantry::doctor
