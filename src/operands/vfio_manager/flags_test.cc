// SPDX-License-Identifier: Apache-2.0
#include "operands/vfio_manager/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace gantry::vfio_manager {
namespace {

using ::testing::HasSubstr;

Result<std::optional<Flags>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), kProgram);
  return ParseFlags(static_cast<int>(words.size()), words.data());
}

TEST(FlagsTest, AreThoseOfVfioManage) {
  const auto all = Parse({"bind", "--all", "--host-root=/host", "--bind-nvswitches"});
  ASSERT_TRUE(all.has_value() && all->has_value());
  EXPECT_EQ((*all)->word, Word::kBind);
  EXPECT_EQ((*all)->places.host_root, "/host");
  EXPECT_TRUE((*all)->selection.switches);
  EXPECT_EQ((*all)->selection.address, "");
  const auto one = Parse({"unbind", "-d", "0000:3b:00.0"});
  ASSERT_TRUE(one.has_value() && one->has_value());
  EXPECT_EQ((*one)->word, Word::kUnbind);
  EXPECT_EQ((*one)->selection.address, "0000:3b:00.0");
}

TEST(FlagsTest, SwitchesComeFromTheVariableToo) {
  setenv("BIND_NVSWITCHES", "true", 1);
  const auto managed = Parse({"manage"});
  unsetenv("BIND_NVSWITCHES");
  ASSERT_TRUE(managed.has_value() && managed->has_value());
  EXPECT_TRUE((*managed)->selection.switches);
  EXPECT_EQ((*managed)->places.journal, "/run/nvidia/validations/.vfio-binding.json");
}

TEST(FlagsTest, OneOfAllAndADeviceIsNeeded) {
  for (const auto& words : std::vector<std::vector<const char*>>{
           {"bind"}, {"bind", "--all", "--device-id", "0000:3b:00.0"}, {"unbind"}}) {
    const auto flags = Parse(words);
    ASSERT_FALSE(flags.has_value());
    EXPECT_THAT(flags.error().message, HasSubstr("--device-id"));
  }
  EXPECT_THAT(Parse({"dance"}).error().message, HasSubstr("no subcommand 'dance'"));
}

}  // namespace
}  // namespace gantry::vfio_manager
