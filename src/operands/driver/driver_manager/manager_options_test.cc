// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/driver_manager/manager_options.h"

#include <gtest/gtest.h>

namespace gantry::driver {
namespace {

std::variant<ManagerOptions, int> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), {"driver-manager", "--node-name", "a"});
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  return ParseManagerOptions(static_cast<int>(argv.size()), argv.data());
}

TEST(ManagerOptions, ASwitchStandsAloneOrHasAValue) {
  const struct {
    const char* flag;
    bool ManagerOptions::* member;
  } switches[] = {{"--enable-gpu-pod-eviction", &ManagerOptions::evict_gpu_pods},
                  {"--enable-auto-drain", &ManagerOptions::auto_drain},
                  {"--drain-use-force", &ManagerOptions::force},
                  {"--drain-delete-emptydir-data", &ManagerOptions::delete_empty_dir},
                  {"--force-reinstall", &ManagerOptions::force_reinstall}};
  for (const auto& [flag, member] : switches) {
    const std::string name = flag;
    EXPECT_TRUE(std::get<ManagerOptions>(Parse({name, "uninstall_driver"})).*member) << name;
    EXPECT_TRUE(std::get<ManagerOptions>(Parse({"uninstall_driver", name})).*member) << name;
    EXPECT_FALSE(std::get<ManagerOptions>(Parse({name + "=false", "uninstall_driver"})).*member)
        << name;
  }
}

TEST(ManagerOptions, FlagsOfNvidiasThatChangeNothingAreAccepted) {
  for (const char* flag : {"--gpu-direct-rdma-enabled", "--gpu-direct-rdma-enabled=true",
                           "--use-host-mofed", "--use-host-mofed=false"}) {
    EXPECT_TRUE(std::holds_alternative<ManagerOptions>(Parse({"uninstall_driver", flag}))) << flag;
  }
}

TEST(ManagerOptions, HelpAndVersionNeedNoWord) {
  EXPECT_EQ(std::get<int>(Parse({"--help"})), 0);
  EXPECT_EQ(std::get<int>(Parse({"--version"})), 0);
  EXPECT_EQ(std::get<int>(Parse({})), 1);
}

}  // namespace
}  // namespace gantry::driver
