// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/driver_manager/flags.h"

#include <gtest/gtest.h>

namespace gantry::driver {
namespace {

Result<std::optional<ManagerFlags>> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), {kManagerProgram, "--node-name", "a"});
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) {
    argv.push_back(word.c_str());
  }
  return ParseManagerFlags(static_cast<int>(argv.size()), argv.data());
}

TEST(ManagerFlags, ASwitchStandsAloneOrHasAValue) {
  const struct {
    const char* flag;
    bool ManagerFlags::* member;
  } switches[] = {{"--enable-gpu-pod-eviction", &ManagerFlags::evict_gpu_pods},
                  {"--enable-auto-drain", &ManagerFlags::auto_drain},
                  {"--drain-use-force", &ManagerFlags::force},
                  {"--drain-delete-emptydir-data", &ManagerFlags::delete_empty_dir},
                  {"--force-reinstall", &ManagerFlags::force_reinstall}};
  for (const auto& [flag, member] : switches) {
    const std::string name = flag;
    EXPECT_TRUE((Parse({name, "uninstall_driver"}).value().value().*member)) << name;
    EXPECT_TRUE((Parse({"uninstall_driver", name}).value().value().*member)) << name;
    EXPECT_FALSE((Parse({name + "=false", "uninstall_driver"}).value().value().*member)) << name;
  }
}

TEST(ManagerFlags, FlagsOfNvidiasThatChangeNothingAreAccepted) {
  for (const char* flag : {"--gpu-direct-rdma-enabled", "--gpu-direct-rdma-enabled=true",
                           "--use-host-mofed", "--use-host-mofed=false"}) {
    EXPECT_TRUE(Parse({"uninstall_driver", flag}).value().has_value()) << flag;
  }
}

TEST(ManagerFlags, HelpAndVersionNeedNoWord) {
  EXPECT_FALSE(Parse({"--help"}).value().has_value());
  EXPECT_FALSE(Parse({"--version"}).value().has_value());
  EXPECT_FALSE(Parse({}).has_value());
}

}  // namespace
}  // namespace gantry::driver
