// SPDX-License-Identifier: Apache-2.0
#include "operator/selector_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

using testing::HasSubstr;

TEST(SelectorText, IsWhatTheApiServerIsAsked) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", ""},
      {R"({"matchLabels": {"a": "b", "c": ""}})", "a=b,c="},
      {R"({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]},
                                {"key": "d", "operator": "NotIn", "values": ["e"]},
                                {"key": "f", "operator": "Exists"},
                                {"key": "g", "operator": "DoesNotExist"}]})",
       "a in (b,c),d notin (e),f,!g"},
      {R"({"matchExpressions": [{"key": "x", "operator": "Exists"}], "matchLabels": {"a": "b"}})",
       "x,a=b"},
      // YAML's unquoted values.
      {R"({"matchLabels": {"a": true, "b": 1}})", "a=true,b=1"},
  };
  for (const auto& [selector, text] : cases) {
    EXPECT_EQ(SelectorText(Json::parse(selector)).value_or("?"), text) << selector;
  }
}

TEST(SelectorText, WhatItCantSayIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "must be a map"},
      {R"({"matchLabel": {}})", "matchLabel: "},
      {R"({"matchLabels": []})", "matchLabels: "},
      {R"({"matchExpressions": [{"operator": "Exists"}]})", "no key"},
      {R"({"matchExpressions": [{"key": "a", "operator": "Like"}]})", "\"Like\" is none of"},
      {R"({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]})", "needs values"},
  };
  for (const auto& [selector, why] : cases) {
    const auto text = SelectorText(Json::parse(selector));
    ASSERT_FALSE(text.has_value()) << selector;
    EXPECT_THAT(text.error().message, HasSubstr(why));
  }
}

}  // namespace
}  // namespace gantry::gpu_operator
