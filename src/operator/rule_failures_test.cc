// SPDX-License-Identifier: Apache-2.0
#include "operator/rule_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

using nfd::RuleMistake;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Told(RuleFailures& failures, const std::string& node,
                              const std::vector<RuleMistake>& mistakes) {
  std::vector<std::string> messages;
  for (const RuleFailures::News& news : failures.Observe(node, mistakes)) {
    messages.push_back(news.object + " " + news.uid + ": " + news.message);
  }
  return messages;
}

RuleMistake Mistake(const std::string& rule, const std::string& reason, long long generation = 1) {
  return {.object = "o", .uid = "u", .generation = generation, .rule = rule, .reason = reason};
}

TEST(RuleFailures, ARuleThatFailsOnManyNodesIsToldOnce) {
  RuleFailures failures;
  EXPECT_THAT(Told(failures, "a", {Mistake("r", "x"), Mistake("s", "y")}),
              ElementsAre("o u: rule r fails on node a: x", "o u: rule s fails on node a: y"));
  EXPECT_THAT(Told(failures, "a", {Mistake("r", "x"), Mistake("s", "y")}), IsEmpty());
  EXPECT_EQ(failures.Observe("a", {Mistake("r", "x"), Mistake("s", "y"), Mistake("t", "z")})[0].all,
            "rule r fails on node a: x; rule s fails on node a: y; rule t fails on node a: z");
  EXPECT_THAT(Told(failures, "b", {Mistake("r", "x")}), IsEmpty());
  EXPECT_THAT(Told(failures, "b", {Mistake("r", "on b")}), IsEmpty());
  EXPECT_THAT(Told(failures, "c", {}), IsEmpty());
}

TEST(RuleFailures, ANewReasonIsToldWhenTheOldOneIsGone) {
  RuleFailures failures;
  EXPECT_EQ(Told(failures, "a", {Mistake("r", "x")}).size(), 1U);
  EXPECT_THAT(Told(failures, "a", {Mistake("r", "z")}),
              ElementsAre("o u: rule r fails on node a: z"));
  EXPECT_THAT(Told(failures, "a", {}), IsEmpty());
  EXPECT_THAT(Told(failures, "a", {Mistake("r", "z")}),
              ElementsAre("o u: rule r fails on node a: z"));
}

TEST(RuleFailures, AnEditedObjectIsToldAnew) {
  RuleFailures failures;
  EXPECT_EQ(Told(failures, "a", {Mistake("r", "x")}).size(), 1U);
  EXPECT_EQ(Told(failures, "b", {Mistake("r", "x")}).size(), 0U);
  EXPECT_EQ(Told(failures, "a", {Mistake("r", "x", 2)}).size(), 1U);
  EXPECT_EQ(Told(failures, "b", {Mistake("r", "x", 2)}).size(), 0U);
}

TEST(RuleFailures, ARuleThatCantBeReadConcernsNoNode) {
  RuleFailures failures;
  EXPECT_THAT(Told(failures, "", {Mistake("b", "labels: must be a map")}),
              ElementsAre("o u: rule b is left out: labels: must be a map"));
  EXPECT_THAT(Told(failures, "", {Mistake("b", "labels: must be a map")}), IsEmpty());
}

}  // namespace
}  // namespace gantry::gpu_operator
