// SPDX-License-Identifier: Apache-2.0
#include "agent/node_condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::agent {
namespace {

using testing::HasSubstr;

Json NodeThatSays(const char* status, const std::string& message) {
  Json node = {{"metadata", {{"name", "n1"}}}};
  node["status"]["conditions"] =
      Json::array({{{"type", "Ready"}, {"status", "True"}, {"message", "every GPU is in service"}},
                   {{"type", "GPUHealthy"},
                    {"status", status},
                    {"message", message},
                    {"lastTransitionTime", "2026-01-01T00:00:00Z"}}});
  return node;
}

TEST(NodeCondition, NamesWhatIsOutOfServiceAndWhy) {
  EXPECT_EQ(ConditionOf({}), (NodeCondition{true, "every GPU is in service"}));
  EXPECT_EQ(ConditionOf({{"GPU-1", "XID 79"}, {"GPU-2", "GPU_IS_LOST"}}),
            (NodeCondition{false, "out of service: GPU-1: XID 79; GPU-2: GPU_IS_LOST"}));
  std::map<std::string, std::string> many;
  for (int i = 0; i < 20; ++i) {
    many[format("MIG-{:02}", i)] = "XID 48";
  }
  EXPECT_THAT(ConditionOf(many).message, HasSubstr("MIG-07: XID 48; and 12 more"));
}

TEST(NodeCondition, IsWrittenWhenItDiffers) {
  const auto bad = ConditionOf({{"GPU-1", "XID 79"}});
  EXPECT_FALSE(ConditionToApply(NodeThatSays("False", bad.message), bad, "now"));
  const auto object = ConditionToApply(NodeThatSays("True", "every GPU is in service"), bad, "now");
  ASSERT_TRUE(object);
  EXPECT_EQ(TextAt(*object, "metadata.name"), "n1");
  const auto& condition = (*object)["status"]["conditions"][0];
  EXPECT_EQ(condition["type"], "GPUHealthy");
  EXPECT_EQ(condition["status"], "False");
  EXPECT_EQ(condition["reason"], "GPUOutOfService");
  EXPECT_EQ(condition["lastTransitionTime"], "now");
  EXPECT_EQ((*object)["status"]["conditions"].size(), 1U) << "nobody else's condition";
  EXPECT_TRUE(ConditionToApply({{"metadata", {{"name", "n1"}}}}, ConditionOf({}), "now"))
      << "a node that has none";
}

TEST(NodeCondition, AnotherReasonKeepsTheTime) {
  const auto bad = ConditionOf({{"GPU-1", "XID 79"}});
  const auto object = ConditionToApply(NodeThatSays("False", "another"), bad, "now");
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)["status"]["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
}

}  // namespace
}  // namespace gantry::agent
