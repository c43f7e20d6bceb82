// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace gantry::driver {
namespace {

using ::testing::ElementsAre;

std::variant<Options, int> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "nvidia-driver");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  return ParseOptions(static_cast<int>(argv.size()), argv.data());
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(DriverOptions, AreNvidiasWordsAndVariables) {
  const Variable version("DRIVER_VERSION", "535.247.01");
  const Variable type("KERNEL_MODULE_TYPE", "auto");
  const auto init = std::get<Options>(Parse({"init", "-a", "--max-threads", "3"}));
  EXPECT_EQ(init.word, Word::kInit);
  EXPECT_EQ(init.version, "535.247.01");
  EXPECT_EQ(init.jobs, 3);
  EXPECT_TRUE(std::holds_alternative<Options>(Parse({"init", "-a=true"})));
  EXPECT_FALSE(init.kernel_release.empty());
  EXPECT_THAT(init.modules, ElementsAre("nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm"));
  EXPECT_EQ(init.precompiled_use, Precompiled::kPrefer);
  EXPECT_EQ(init.module_type, ModuleType::kAuto);

  const Variable open("OPEN_KERNEL_MODULES_ENABLED", "true");
  const Variable only("USE_PRECOMPILED", "true");
  const auto changed =
      std::get<Options>(Parse({"--driver-version", "1.2", "init", "--module-names", "a, b-c,"}));
  EXPECT_EQ(changed.version, "1.2");
  EXPECT_EQ(changed.module_type, ModuleType::kOpen);
  EXPECT_EQ(changed.precompiled_use, Precompiled::kOnly);
  EXPECT_THAT(changed.modules, ElementsAre("a", "b-c"));

  EXPECT_EQ(std::get<Options>(Parse({"reload_nvidia_peermem"})).word, Word::kReloadPeermem);
}

TEST(DriverOptions, AMistakeIsAnExitCode) {
  EXPECT_EQ(std::get<int>(Parse({"init"})), 1);                             // no version
  EXPECT_EQ(std::get<int>(Parse({})), 1);                                   // no word
  EXPECT_EQ(std::get<int>(Parse({"init", "--driver-version", "a/b"})), 1);  // no part of a path
  EXPECT_EQ(std::get<int>(Parse({"init", "--driver-version", "1", "--module-names", ","})), 1);
  EXPECT_EQ(std::get<int>(Parse({"init", "--driver-version", "1", "--use-precompiled", "x"})), 1);
  EXPECT_EQ(std::get<int>(Parse({"--help"})), 0);
  EXPECT_EQ(std::get<int>(Parse({"--version"})), 0);
  EXPECT_TRUE(std::holds_alternative<Options>(Parse({"probe_nvidia_peermem"})));
}

}  // namespace
}  // namespace gantry::driver
