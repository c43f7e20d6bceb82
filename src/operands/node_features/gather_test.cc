// SPDX-License-Identifier: Apache-2.0
// Where the worker reads what. What it makes of it is tested with the labels (labels_test.cc).
#include "operands/node_features/gather.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gantry::node_features {
namespace {

// As the operator mounts it, as NFD's manifests do, and a whole machine for tests.
TEST(HostSources, WhatIsNotMountedOfProcIsTheContainersOwn) {
  std::string folder = "/tmp/gantry-sources-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
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
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gantry::node_features
