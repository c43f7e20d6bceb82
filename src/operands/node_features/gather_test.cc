// SPDX-License-Identifier: Apache-2.0
// Where the worker reads what. What it makes of it is tested with the labels (labels_test.cc).
#include "operands/node_features/gather.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::node_features {
namespace {

// As the operator mounts it, as NFD's manifests do, and a whole machine for tests.
TEST(HostSources, WhatIsNotMountedOfProcIsTheContainersOwn) {
  const TempFolder temporary;
  const std::string& folder = temporary.path();
  const std::string prefix = folder + "/host-";
  EXPECT_EQ(HostSources(prefix).proc, "/proc");
  EXPECT_EQ(HostSources(prefix).swaps, "/proc/swaps");
  EXPECT_EQ(HostSources(prefix).sys, prefix + "sys");
  std::filesystem::create_directory(prefix + "proc");
  std::ofstream(prefix + "proc/swaps") << "Filename Type\n";
  EXPECT_EQ(HostSources(prefix).proc, "/proc");
  EXPECT_EQ(HostSources(prefix).swaps, prefix + "proc/swaps");
  std::filesystem::remove(prefix + "proc/swaps");
  std::ofstream(prefix + "proc/cpuinfo") << "";
  EXPECT_EQ(HostSources(prefix).proc, prefix + "proc");
  EXPECT_EQ(HostSources(prefix).swaps, prefix + "proc/swaps");
}

TEST(Gather, AFileThatIsTooLargeIsNamed) {
  const TempFolder temporary;
  const std::string& folder = temporary.path();
  std::filesystem::create_directories(folder + "/sys/bus/pci/devices");
  std::filesystem::create_directory(folder + "/features.d");
  std::ofstream(folder + "/features.d/large") << std::string(64UL * 1024 + 1, '#');
  std::ofstream(folder + "/features.d/small") << "a=b\n";
  const auto facts = Gather({.sys = folder + "/sys",
                             .os_release = "",
                             .proc = folder + "/proc",
                             .features_dir = folder + "/features.d"});
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_EQ(facts->local_files.size(), 1U);
  EXPECT_EQ(facts->warnings, std::vector<std::string>{folder + "/features.d/large is left out: it "
                                                               "is larger than 64 KiB"});
  EXPECT_FALSE(facts->modules.has_value());
  EXPECT_TRUE(facts->leaves.registers.empty());  // of another machine
}

#ifdef __x86_64__
TEST(Gather, TheProcessorOfThisMachineIsAsked) {
  const auto facts = Gather({.sys = "/sys", .os_release = "", .proc = "/proc", .features_dir = ""});
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_TRUE(CpuFlags(facts->leaves).contains("X86_64_V1"));
}
#endif

}  // namespace
}  // namespace gantry::node_features
