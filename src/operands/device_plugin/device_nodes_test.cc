// SPDX-License-Identifier: Apache-2.0
#include "operands/device_plugin/device_nodes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gantry::device_plugin {
namespace {

TEST(DeviceNodes, WithoutAMountOfADevTheContainersOwnIsMeant) {
  std::string root = "/tmp/gantry-device-nodes-XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  EXPECT_EQ(DevRootHere(root + "/none"), "/");
  EXPECT_EQ(DevRootHere(root), "/");
  std::ofstream(root + "/dev") << "no folder";
  EXPECT_EQ(DevRootHere(root), "/");
  std::filesystem::remove(root + "/dev");
  std::filesystem::create_directory(root + "/dev");
  EXPECT_EQ(DevRootHere(root), root);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace gantry::device_plugin
