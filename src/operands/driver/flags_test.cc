// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/variables.h"

namespace gantry::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::optional<Flags>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), kProgram);
  return ParseFlags(static_cast<int>(words.size()), words.data());
}

Flags Read(std::vector<const char*> words) { return Parse(std::move(words)).value().value(); }

std::string Mistake(std::vector<const char*> words) {
  const auto parsed = Parse(std::move(words));
  return parsed ? "none" : parsed.error().message;
}

TEST(DriverFlags, AreNvidiasWordsAndVariables) {
  const Variables first({{"DRIVER_VERSION", "535.247.01"}, {"KERNEL_MODULE_TYPE", "auto"}});
  const auto init = Read({"init", "-a", "--max-threads", "3"});
  EXPECT_EQ(init.word, Word::kInit);
  EXPECT_EQ(init.version, "535.247.01");
  EXPECT_EQ(init.jobs, 3);
  EXPECT_EQ(Mistake({"init", "-a=true"}), "none");
  EXPECT_FALSE(init.kernel_release.empty());
  EXPECT_THAT(init.modules, ElementsAre("nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm"));
  EXPECT_EQ(init.precompiled_use, Precompiled::kPrefer);
  EXPECT_EQ(init.module_type, ModuleType::kAuto);

  const Variables then({{"OPEN_KERNEL_MODULES_ENABLED", "true"}, {"USE_PRECOMPILED", "true"}});
  const auto changed = Read({"--driver-version", "1.2", "init", "--module-names", "a, b-c,"});
  EXPECT_EQ(changed.version, "1.2");
  EXPECT_EQ(changed.module_type, ModuleType::kOpen);
  EXPECT_EQ(changed.precompiled_use, Precompiled::kOnly);
  EXPECT_THAT(changed.modules, ElementsAre("a", "b-c"));

  EXPECT_EQ(Read({"reload_nvidia_peermem"}).word, Word::kReloadPeermem);
}

TEST(DriverFlags, AMistakeNamesTheFlag) {
  EXPECT_THAT(Mistake({"init"}), HasSubstr("--driver-version"));
  EXPECT_THAT(Mistake({}), HasSubstr("subcommand"));
  EXPECT_THAT(Mistake({"init", "--driver-version", "a/b"}), HasSubstr("can't be part of a path"));
  EXPECT_THAT(Mistake({"init", "--driver-version", "1", "--module-names", ","}),
              HasSubstr("--module-names"));
  EXPECT_THAT(Mistake({"init", "--driver-version", "1", "--use-precompiled", "x"}),
              HasSubstr("--use-precompiled"));
  EXPECT_FALSE(Parse({"--help"}).value().has_value());
  EXPECT_FALSE(Parse({"--version"}).value().has_value());
  EXPECT_EQ(Mistake({"probe_nvidia_peermem"}), "none");
}

}  // namespace
}  // namespace gantry::driver
