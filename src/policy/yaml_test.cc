// SPDX-License-Identifier: Apache-2.0
#include "policy/yaml.h"

#include <gtest/gtest.h>

namespace gantry::policy {
namespace {

TEST(Yaml, BecomesJson) {
  const auto json =
      ParseYaml("a: 1\nb: [true, 'true', \"3\", 02, 0b40, null, text]\nc: {d: -5, e: }\nf: 1.5\n");
  ASSERT_TRUE(json.has_value()) << json.error().message;
  EXPECT_EQ(*json, Json({{"a", 1},
                         {"b", {true, "true", "3", "02", "0b40", nullptr, "text"}},
                         {"c", {{"d", -5}, {"e", nullptr}}},
                         {"f", "1.5"}}));
  EXPECT_EQ(ParseYaml("").value(), Json());
  EXPECT_EQ(ParseYaml(R"({"a": ["b"]})").value(), Json({{"a", {"b"}}}));
}

TEST(Yaml, MayHaveSeveralDocuments) {
  EXPECT_EQ(ParseYamlDocuments("---\na: 1\n---\n- b\n---\n").value(),
            (std::vector<Json>{Json({{"a", 1}}), Json::array({"b"}), Json()}));
  // Empty ones between them end nothing, and what only looks like a marker begins nothing.
  EXPECT_EQ(ParseYamlDocuments("# a\n---\n---\na: |\n  ---\n  b\n----: c\n").value(),
            (std::vector<Json>{Json(), Json(), Json({{"a", "---\nb\n"}, {"----", "c"}})}));
  EXPECT_TRUE(ParseYamlDocuments("").value().empty());
  EXPECT_FALSE(ParseYamlDocuments("a: 1\n---\na: [").has_value());
}

TEST(Yaml, MergesMaps) {
  EXPECT_EQ(ParseYaml("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {y: 4, <<: [*a, {z: 5, x: 6}]}\n"
                      "d: {'<<': 1}\n")
                .value(),
            Json({{"a", {{"x", 1}, {"y", 2}}},
                  {"b", {{"x", 1}, {"y", 3}}},
                  {"c", {{"x", 1}, {"y", 4}, {"z", 5}}},
                  {"d", {{"<<", 1}}}}));
  EXPECT_FALSE(ParseYaml("a: {<<: 1}").has_value());
}

TEST(Yaml, AKeyThatStandsTwiceIsRefused) {
  EXPECT_EQ(ParseYaml("a: {b: 1,\n  b: 2}").error().message,
            "read YAML: line 2, column 3: the key \"b\" occurs twice");
}

TEST(Yaml, MistakesAndBombsAreRefused) {
  EXPECT_FALSE(ParseYaml("a: [").has_value());
  EXPECT_FALSE(ParseYaml("? [a]\n: b\n").has_value());
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) {
      bomb += (j > 0 ? ", " : "") + alias;
    }
    bomb += "]\n";
  }
  EXPECT_FALSE(ParseYaml(bomb).has_value());
}

}  // namespace
}  // namespace gantry::policy
