// SPDX-License-Identifier: Apache-2.0

#include "operator/policy_status.h"

#include "operator/verdict_for_tests.h"

namespace gantry::gpu_operator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using PolicyStatusTest = VerdictTest;

TEST_F(PolicyStatusTest, ValuesOfTheChartThatMakeNoDifferenceAreNamed) {
  input_.values_not_known = {"driver.verison (driver.version?)"};
  input_.values_not_followed = {"draDriver.version"};
  const Verdict verdict = Now();
  EXPECT_EQ(verdict.state, "ready");
  EXPECT_THAT(verdict.partly,
              AllOf(HasSubstr("unknown values of the chart: driver.verison (driver.version?)"),
                    HasSubstr("without effect: draDriver.version")));
  const Json status = StatusOf(verdict, Input(), {Json(), 1, WallTime{}});
  EXPECT_EQ(status["valuesNotKnown"], Json::array({"driver.verison (driver.version?)"}));
  EXPECT_EQ(status["valuesNotFollowed"], Json::array({"draDriver.version"}));
}

TEST_F(PolicyStatusTest, DefinitionsThatDropFieldsAreACondition) {
  const auto told = [&] {
    const Json status = StatusOf(Now(), Input(), {Json(), 1, WallTime{}});
    for (const Json& condition : status["conditions"]) {
      if (condition["type"] == "DefinitionsCurrent") {
        return condition;
      }
    }
    return Json();
  };
  EXPECT_EQ(told()["status"], "True");
  input_.outdated_definitions = {"the definition a is another release's"};
  EXPECT_EQ(told()["reason"], "DefinitionOutdated");
  EXPECT_EQ(told()["message"], "the definition a is another release's");
}

TEST_F(PolicyStatusTest, StatusCarriesNvidiasPairOfConditions) {
  input_.unsupported_fields = {"dcgmExporter", "psa.enabled"};
  cluster_.untolerated = {"n: a=b:NoSchedule"};
  const Json status = StatusOf(Now(), Input(), {Json(), 3, WallTime{}});
  EXPECT_EQ(status["state"], "ready");
  EXPECT_EQ(status["namespace"], "ns");
  EXPECT_EQ(status["conditions"][0]["type"], "Ready");
  EXPECT_EQ(status["conditions"][0]["status"], "True");
  EXPECT_EQ(status["conditions"][0]["reason"], "Reconciled");
  EXPECT_EQ(status["conditions"][0]["observedGeneration"], 3);
  EXPECT_EQ(status["conditions"][1]["type"], "Error");
  EXPECT_EQ(status["conditions"][1]["status"], "False");
  EXPECT_EQ(status["conditions"][1]["reason"], "Ready");
  EXPECT_EQ(status["conditions"][2]["reason"], "Partly");
  EXPECT_THAT(status["conditions"][2]["message"].get<std::string>(),
              HasSubstr("fields without effect: psa.enabled"));
  EXPECT_EQ(status["conditions"][3]["reason"], "TaintNotTolerated");
  EXPECT_EQ(status["unsupportedFields"].size(), 2U);
  for (const Json& operand : status["operands"]) {
    EXPECT_NE(operand["state"], "disabled");
  }

  Plugin().available = 0;
  const Json broken = StatusOf(Now(), Input(), {status, 3, WallTime{} + std::chrono::seconds(5)});
  EXPECT_EQ(broken["conditions"][0]["reason"], "Error");
  EXPECT_EQ(broken["conditions"][1]["reason"], "OperandNotReady");
  EXPECT_FALSE(SameStatus(status, broken));
}

TEST(PolicyStatus, MessagesAloneAreNoHurry) {
  Json status = {
      {"state", "notReady"},
      {"conditions",
       Json::array({{{"type", "Ready"}, {"status", "False"}, {"message", "1 of 9"}}})},
      {"operands",
       Json::array({{{"name", "driver"}, {"state", "notReady"}, {"message", "1 of 9"}}})}};
  Json counted = status;
  counted["conditions"][0]["message"] = counted["operands"][0]["message"] = "2 of 9";
  EXPECT_FALSE(SameStatus(status, counted));
  EXPECT_TRUE(SameButMessages(status, counted));
  Json judged = counted;
  judged["operands"][0]["state"] = "ready";
  EXPECT_FALSE(SameButMessages(counted, judged));
  judged = counted;
  judged["conditions"][0]["status"] = "True";
  EXPECT_FALSE(SameButMessages(counted, judged));
  EXPECT_FALSE(SameButMessages(Json(), status));
}

TEST_F(PolicyStatusTest, TimesOfConditionsStayWhileTheirStatusDoes) {
  const Json first = StatusOf(Now(), Input(), {Json(), 1, WallTime{}});
  const Json second = StatusOf(Now(), Input(), {first, 1, WallTime{} + std::chrono::hours(1)});
  EXPECT_EQ(first, second);
  EXPECT_TRUE(
      SameStatus(first, StatusOf(Now(), Input(), {Json(), 1, WallTime{} + std::chrono::hours(1)})));
}

TEST_F(PolicyStatusTest, OtherPoliciesAreToldWhy) {
  const Json ignored = IgnoredStatus("ClusterPolicy first", {Json(), 1, WallTime{}});
  EXPECT_EQ(ignored["state"], "ignored");
  EXPECT_THAT(ignored["conditions"][1]["message"].get<std::string>(), HasSubstr("first"));
  const Json invalid = BriefStatus(JudgeInvalid("spec.x: wrong"), "ns", {Json(), 1, WallTime{}});
  EXPECT_EQ(invalid["state"], "notReady");
  EXPECT_EQ(invalid["conditions"][1]["reason"], "ReconcileFailed");
  EXPECT_EQ(invalid["conditions"][1]["message"], "spec.x: wrong");
  EXPECT_EQ(invalid["conditions"][2]["reason"], "Partly");
  EXPECT_EQ(invalid["conditions"][2]["message"], "spec.x: wrong");
  const Json told = ShortFormStatus(invalid, "spec.x: wrong", {Json(), 1, WallTime{}});
  EXPECT_EQ(told["namespace"], "ns");
  EXPECT_EQ(told["conditions"], invalid["conditions"]);
}

TEST(BriefStatus, AGpuClusterSaysWhatItWaitsFor) {
  const Json status = BriefStatus(JudgePrerequisite("too old"), "ns", {Json(), 4, WallTime{}});
  EXPECT_EQ(status["state"], "notReady");
  EXPECT_EQ(status["conditions"][0]["status"], "False");
  EXPECT_EQ(status["conditions"][1]["reason"], "PrerequisiteNotMet");
  EXPECT_EQ(status["conditions"][1]["message"], "too old");
  EXPECT_EQ(status["conditions"][1]["observedGeneration"], 4);
}

TEST_F(PolicyStatusTest, TheShortFormSaysWhatBecameOfBoth) {
  const VerdictInput input = Input();
  const Json followed = StatusOf(Now(), input, {Json(), 1, WallTime{}});
  const Json told = ShortFormStatus(followed, "not acted on: cuda", {Json(), 7, WallTime{}});
  EXPECT_EQ(told["state"], followed["state"]);
  EXPECT_EQ(told["namespace"], "ns");
  ASSERT_EQ(told["conditions"].size(), followed["conditions"].size());
  EXPECT_EQ(told["conditions"][0]["message"], followed["conditions"][0]["message"]);
  EXPECT_EQ(told["conditions"][0]["observedGeneration"], 7);
  EXPECT_EQ(told["conditions"].back()["reason"], "Partly");
  EXPECT_EQ(told["conditions"].back()["message"], "not acted on: cuda");
  const Json whole = ShortFormStatus(followed, "", {told, 7, WallTime{} + std::chrono::hours(1)});
  EXPECT_EQ(whole["conditions"].back()["reason"], "Complete");
  EXPECT_EQ(whole["conditions"][0]["lastTransitionTime"],
            told["conditions"][0]["lastTransitionTime"]);
}

TEST_F(PolicyStatusTest, WhatAShortFormSaysOtherwiseIsNamed) {
  VerdictInput input = Input();
  input.overridden_fields = {"driver.version", "migManager.enabled"};
  const Json status = StatusOf(Now(), input, {Json(), 1, WallTime{}});
  EXPECT_THAT(status["conditions"][2]["message"].get<std::string>(),
              HasSubstr("a GPUClusterPolicy says otherwise: driver.version, migManager.enabled"));
  EXPECT_EQ(status["conditions"][2]["reason"], "Partly");
}

TEST(StatusPatch, WhatIsGoneGoesAtAnyDepth) {
  const Json before = Json::parse(
      R"({"state": "notReady", "driverUpgrades": {"done": 1, "nodes": [{"name": "a"}]}, "old": {"a": 1}})");
  const Json after =
      Json::parse(R"({"state": "ready", "driverUpgrades": {"done": 2}, "new": {"b": [1]}})");
  Json stored = before;
  stored.merge_patch(StatusPatch(before, after));
  EXPECT_EQ(stored, after);
  stored = Json::object();
  stored.merge_patch(StatusPatch(stored, before));
  EXPECT_EQ(stored, before);
}

}  // namespace
}  // namespace gantry::gpu_operator
