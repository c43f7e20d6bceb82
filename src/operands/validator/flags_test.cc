// SPDX-License-Identifier: Apache-2.0
#include "operands/validator/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry::validator {
namespace {

using testing::HasSubstr;

Result<std::optional<Flags>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), kProgram);
  return ParseFlags(static_cast<int>(words.size()), words.data());
}

TEST(ValidatorFlags, ASwitchOfOneLetterMayHaveAValue) {
  const Flags flags = Parse({"-w=true", "-r=false", "-l=false", "-c=driver"}).value().value();
  EXPECT_TRUE(flags.with_wait);
  EXPECT_FALSE(flags.cleanup_all);
  EXPECT_EQ(flags.component, "driver");
}

TEST(ValidatorFlags, HelpAndVersionAreNoMistakes) {
  EXPECT_FALSE(Parse({"--help"}).value().has_value());
  EXPECT_FALSE(Parse({"--version"}).value().has_value());
  EXPECT_THAT(Parse({"--of-tomorrow"}).error().message, HasSubstr("--of-tomorrow"));
  EXPECT_THAT(Parse({"-c", "metrics"}).error().message, HasSubstr("--node-name"));
}

}  // namespace
}  // namespace gantry::validator
