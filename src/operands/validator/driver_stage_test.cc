// SPDX-License-Identifier: Apache-2.0
// When is a driver one, and are its device nodes there? The validator as a process, over files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "operands/validator/testing/validator_process.h"

namespace gantry::validator {
namespace {

// op#2685: the node was said to be ready while nvidia-uvm's nodes were missing, and was not looked
// at again after the driver had changed.
TEST_F(ValidatorTest, Op2685_NotReadyWithoutUvmOrWithAGpuThatHasNoNode) {
  MakeFile("host/proc/driver/nvidia/gpus/0000:3b:00.0/information", "Device Minor: \t 0\n");
  MakeFile("host/proc/driver/nvidia/gpus/0000:af:00.0/information", "Device Minor: \t 1\n");
  MakeNode("host/dev/nvidia1");
  fs::remove(root_ / "host/dev/nvidia-uvm");
  EXPECT_EQ(Run({"--component", "driver"}), 1);
  MakeNode("host/dev/nvidia-uvm");
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  fs::remove(root_ / "host/dev/nvidia-uvm");
  EXPECT_TRUE(Becomes("driver-ready", false));
  MakeNode("host/dev/nvidia-uvm");
  EXPECT_TRUE(Becomes("driver-ready", true));
  fs::remove(root_ / "host/dev/nvidia1");
  EXPECT_TRUE(Becomes("driver-ready", false));
}

TEST_F(ValidatorTest, Op2685_ADriverContainerThatIsMadeAnewIsLookedAtAgain) {
  fs::remove_all(root_ / "host/usr");
  const std::string library =
      "host/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.247.01";
  const auto bring = [&] {
    MakeFile(library, "a library");
    fs::create_symlink("libnvidia-ml.so.535.247.01",
                       (root_ / library).parent_path() / "libnvidia-ml.so.1");
    MakeFile("status/.driver-ctr-ready", "GDRCOPY_ENABLED: true\n");
  };
  bring();
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  // Its pod ends: preStop takes the mark, the mount goes.
  fs::remove(fs::path(status_) / ".driver-ctr-ready");
  EXPECT_TRUE(Becomes("driver-ready", false));
  fs::remove_all(root_ / "host/run/nvidia/driver");
  bring();
  EXPECT_TRUE(Becomes("driver-ready", true));
}

TEST_F(ValidatorTest, ControlNodesThatAreMissingAreMade) {
  MakeFile("host/proc/devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n");
  fs::remove(root_ / "host/dev/nvidiactl");
  fs::remove(root_ / "host/dev/nvidia-uvm");
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  struct stat node{};
  ASSERT_EQ(stat((root_ / "host/dev/nvidia-uvm").c_str(), &node), 0);
  EXPECT_EQ(node.st_rdev, makedev(511, 0));
  EXPECT_EQ(node.st_mode & 07777, 0666);
  ASSERT_EQ(stat((root_ / "host/dev/nvidiactl").c_str(), &node), 0);
  EXPECT_EQ(node.st_rdev, makedev(195, 255));
}

// op#2685: they were made, and looked for, in the /dev of the host alone.
TEST_F(ValidatorTest, Op2685_ADriverContainersOwnDevGetsItsNodes) {
  fs::remove_all(root_ / "host/usr");
  MakeFile("host/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1", "a library");
  MakeFile("host/proc/devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n");
  MakeNode("host/run/nvidia/driver/dev/nvidia0");
  MakeFile("status/.driver-ctr-ready", "");
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  struct stat node{};
  ASSERT_EQ(stat((root_ / "host/run/nvidia/driver/dev/nvidia-uvm").c_str(), &node), 0);
  EXPECT_EQ(node.st_rdev, makedev(511, 0));
}

// nct#1227: systemd finds device nodes through /dev/char when it sets a container's rules again.
TEST_F(ValidatorTest, Nct1227_EveryDeviceNodeHasItsLinkInDevChar) {
  const auto make = [this](const std::string& path, unsigned minor) {
    fs::remove(root_ / path);
    fs::create_directories((root_ / path).parent_path());
    ASSERT_EQ(mknod((root_ / path).c_str(), S_IFCHR | 0666, makedev(195, minor)), 0);
  };
  make("host/dev/nvidia0", 0);
  make("host/dev/nvidia-caps/nvidia-cap1", 1);
  fs::create_directories(root_ / "char");
  fs::create_symlink("/dev/old", root_ / "char/195:1");
  EXPECT_EQ(Run({"--component", "driver", "--disable-dev-char-symlink-creation"}), 0);
  EXPECT_FALSE(fs::is_symlink(root_ / "char/195:0"));
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  EXPECT_EQ(fs::read_symlink(root_ / "char/195:0"), "/dev/nvidia0");
  EXPECT_EQ(fs::read_symlink(root_ / "char/195:1"), "/dev/nvidia-caps/nvidia-cap1");
}

// As on Container-Optimized OS, where the provider's installer fills that folder.
TEST_F(ValidatorTest, ADriverThatNoContainerOfOursBringsNeedsNoMark) {
  fs::remove_all(root_ / "host/usr");
  MakeFile("host/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1", "a library");
  const std::vector<std::string> words = {"--component", "driver", "--driver-install-dir",
                                          "/home/kubernetes/bin/nvidia"};
  EXPECT_EQ(Run(words), 1) << "a container may be at it still";
  std::vector<std::string> alone = words;
  alone.insert(alone.end(), {"--with-driver-container", "false"});
  EXPECT_EQ(Run(alone), 0);
}

}  // namespace
}  // namespace gantry::validator
