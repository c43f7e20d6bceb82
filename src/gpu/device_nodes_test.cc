// SPDX-License-Identifier: Apache-2.0
#include "gpu/device_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::gpu {
namespace {

TEST(DeviceNodes, WithoutAMountOfADevTheContainersOwnIsMeant) {
  const TempFolder temporary;
  const std::string& root = temporary.path();
  EXPECT_EQ(DevRootHere(root + "/none"), "/");
  EXPECT_EQ(DevRootHere(root), "/");
  std::ofstream(root + "/dev") << "no folder";
  EXPECT_EQ(DevRootHere(root), "/");
  std::filesystem::remove(root + "/dev");
  std::filesystem::create_directory(root + "/dev");
  EXPECT_EQ(DevRootHere(root), root);
}

// The kernel gives a driver's modules their numbers anew at each load.
TEST(DeviceNodes, ThoseOfAnEarlierDriverAreMadeAnew) {
  const TempFolder temporary;
  const std::string& root = temporary.path();
  const std::string host = root + "/host";
  const std::string here = root + "/here";
  std::filesystem::create_directories(host + "/nvidia-caps");
  std::filesystem::create_directories(here);
  const auto make = [](const std::string& path, unsigned minor) {
    return mknod(path.c_str(), S_IFCHR | 0666U, makedev(1, minor)) == 0;
  };
  const auto number = [](const std::string& path) {
    struct stat info{};
    return stat(path.c_str(), &info) == 0 ? minor(info.st_rdev) : 0U;
  };
  ASSERT_TRUE(make(host + "/nvidia-uvm", 3) && make(host + "/nvidia-caps/nvidia-cap1", 5));
  ASSERT_TRUE(make(host + "/nvidia0", 3) && make(here + "/nvidia0", 3));
  ASSERT_TRUE(make(here + "/nvidia-uvm", 8));
  const auto made = MirrorDeviceNodes(host, here);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made,
            (std::set<std::string>{here + "/nvidia-uvm", here + "/nvidia-caps/nvidia-cap1"}));
  EXPECT_EQ(number(here + "/nvidia-uvm"), 3U);
  EXPECT_EQ(MirrorDeviceNodes(host, here).value_or(std::set<std::string>{"?"}),
            std::set<std::string>{});
  // Anything but a device node belongs to another owner.
  std::ofstream(here + "/nvidia1") << "";
  ASSERT_TRUE(make(host + "/nvidia1", 3));
  EXPECT_TRUE(MirrorDeviceNodes(host, here));
  EXPECT_TRUE(std::filesystem::is_regular_file(here + "/nvidia1"));
}

TEST(DeviceNodes, ANodeThatIsMadeLaterOrAnewIsNew) {
  const TempFolder temporary;
  const std::string dev = temporary.path();
  const auto make = [&dev](const std::string& name, unsigned minor) {
    return mknod((dev + "/" + name).c_str(), S_IFCHR | 0666U, makedev(1, minor)) == 0;
  };
  ASSERT_TRUE(make("nvidia0", 3) && make("nvidia10", 5) && make("nvidiactl", 3));
  std::ofstream(dev + "/nvidia2") << "";
  const auto before = GpuNodes(dev);
  EXPECT_THAT(before, testing::ElementsAre(testing::Key("nvidia0"), testing::Key("nvidia10")));
  EXPECT_FALSE(HasNewNode(before, before));
  std::filesystem::remove(dev + "/nvidia10");
  EXPECT_FALSE(HasNewNode(GpuNodes(dev), before));
  ASSERT_TRUE(make("nvidia1", 3));
  EXPECT_TRUE(HasNewNode(GpuNodes(dev), before));
  std::filesystem::remove(dev + "/nvidia1");
  std::filesystem::remove(dev + "/nvidia0");
  ASSERT_TRUE(make("nvidia0", 8));
  EXPECT_TRUE(HasNewNode(GpuNodes(dev), before));
  EXPECT_TRUE(GpuNodes(dev + "/none").empty());
}

}  // namespace
}  // namespace gantry::gpu
