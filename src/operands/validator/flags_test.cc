// SPDX-License-Identifier: Apache-2.0
#include "operands/validator/flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry::validator {
namespace {

std::variant<Flags, int> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "nvidia-validator");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  return ParseFlags(static_cast<int>(argv.size()), argv.data());
}

TEST(ValidatorFlags, ASwitchOfOneLetterMayHaveAValue) {
  const auto flags = std::get<Flags>(Parse({"-w=true", "-r=false", "-l=false", "-c=driver"}));
  EXPECT_TRUE(flags.with_wait);
  EXPECT_FALSE(flags.cleanup_all);
  EXPECT_EQ(flags.component, "driver");
}

TEST(ValidatorFlags, HelpVersionAndMistakesAreExitCodes) {
  EXPECT_EQ(std::get<int>(Parse({"--help"})), 0);
  EXPECT_EQ(std::get<int>(Parse({"--version"})), 0);
  EXPECT_EQ(std::get<int>(Parse({"--of-tomorrow"})), 1);
  EXPECT_EQ(std::get<int>(Parse({"-c", "metrics"})), 1);
}

}  // namespace
}  // namespace gantry::validator
