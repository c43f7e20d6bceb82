// SPDX-License-Identifier: Apache-2.0
#include "operands/mig_manager/parted/hooks.h"

#include <gtest/gtest.h>

namespace gantry::mig_parted {
namespace {

TEST(ParseHooks, ReadsUpstreamsFile) {
  const Hooks hooks = ParseHooks(R"(
version: v1
hooks:
  apply-start:
  - command: /bin/bash
    args: ["-x", "-c", "stop"]
    workdir: /etc/nvidia-mig-manager
    envs: {A: "1"}
  - command: second
  apply-exit: []
)")
                          .value();
  EXPECT_EQ(hooks.at(kApplyStart).at(0),
            (Hook{"/bin/bash", {"-x", "-c", "stop"}, {{"A", "1"}}, "/etc/nvidia-mig-manager"}));
  EXPECT_EQ(hooks.at(kApplyStart).at(1), (Hook{"second", {}, {}, ""}));
  EXPECT_FALSE(hooks.contains(kApplyExit));
}

TEST(ParseHooks, AMistakeIsNamedByTheKeysPath) {
  const auto refusal = [](const char* text) { return ParseHooks(text).error().message; };
  EXPECT_EQ(refusal("hooks: {}"), "version: must be v1");
  EXPECT_EQ(refusal("{version: v1, hook: {}}"), "hook: unknown key");
  EXPECT_EQ(refusal("{version: v1, hooks: {apply-end: []}}"), "hooks.apply-end: unknown key");
  EXPECT_EQ(refusal("{version: v1, hooks: {apply-exit: {}}}"), "hooks.apply-exit: not a list");
  EXPECT_EQ(refusal("{version: v1, hooks: {apply-exit: [{}]}}"),
            "hooks.apply-exit[0].command: not a string");
  EXPECT_EQ(refusal("{version: v1, hooks: {apply-exit: [{command: a, args: [1]}]}}"),
            "hooks.apply-exit[0].args[0]: not a string");
  EXPECT_EQ(refusal("{version: v1, hooks: {apply-exit: [{command: a, envs: {B: 1}}]}}"),
            "hooks.apply-exit[0].envs.B: not a string");
  EXPECT_EQ(refusal("{version: v1, hooks: {apply-exit: [{command: a, dir: b}]}}"),
            "hooks.apply-exit[0].dir: unknown key");
}

TEST(HookEnvironment, HasNothingBesides) {
  const Hook hook{"a", {}, {{"A", "own"}, {"MIG_PARTED_DEBUG", "own"}}, ""};
  EXPECT_EQ(
      HookEnvironment(hook, {{"MIG_PARTED_DEBUG", "false"}, {"MIG_PARTED_CONFIG_FILE", "f"}}),
      (std::vector<std::string>{"A=own", "MIG_PARTED_CONFIG_FILE=f", "MIG_PARTED_DEBUG=false"}));
}

}  // namespace
}  // namespace gantry::mig_parted
