// SPDX-License-Identifier: Apache-2.0
#include "host/driver_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"
#include "elf/library_cache.h"
#include "host/kernel_modules.h"
#include "host/pci.h"

namespace gantry::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;
namespace fs = std::filesystem;

TEST(KernelModules, AreRead) {
  const auto modules = ParseModules(
      "nvidia_uvm 1421312 2 - Live 0x0000000000000000 (POE)\n"
      "nvidia 56717312 37 nvidia_uvm, Loading 0x0000000000000000 (POE)\nnonsense\n");
  EXPECT_THAT(modules,
              ElementsAre(KernelModule{"nvidia_uvm", 2, true}, KernelModule{"nvidia", 37, false}));
}

TEST(KernelModules, DriverVersionOfBothKinds) {
  EXPECT_EQ(ParseDriverVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Thu "
                               "Mar  6\nGCC version:  gcc version 12.2.0\n"),
            "535.247.01");
  EXPECT_EQ(ParseDriverVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15 "
                               " Release Build\n"),
            "550.54.15");
  EXPECT_EQ(ParseDriverVersion("GCC version: 12.2.0\n"), "");
}

TEST(KernelModules, MajorOfACharacterDevice) {
  const char* text =
      "Character devices:\n  1 mem\n195 nvidia\n511 nvidia-uvm\n\nBlock devices:\n  8 sd\n";
  EXPECT_EQ(CharacterMajor(text, "nvidia"), 195);
  EXPECT_EQ(CharacterMajor(text, "nvidia-uvm"), 511);
  EXPECT_EQ(CharacterMajor(text, "sd"), -1);
}

class DriverRootTest : public ::testing::Test {
 protected:
  void File(const std::string& path, const std::string& text = "x\n", mode_t mode = 0644) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    chmod((root_ / path).c_str(), mode);
  }
  void Link(const std::string& path, const std::string& target) const {
    fs::create_directories((root_ / path).parent_path());
    fs::create_symlink(target, root_ / path);
  }
  // A character device, as a copy of /dev/null.
  void Node(const std::string& path) const {
    fs::create_directories((root_ / path).parent_path());
    ASSERT_EQ(mknod((root_ / path).c_str(), S_IFCHR | 0666, makedev(1, 3)), 0) << path;
  }
  void Pci(const std::string& address, const std::string& vendor, const std::string& class_code,
           const std::string& driver) const {
    const std::string directory = "sys/bus/pci/devices/" + address;
    File(directory + "/vendor", vendor + "\n");
    File(directory + "/device", "0x1eb8\n");
    File(directory + "/class", class_code + "\n");
    File(directory + "/numa_node", "-1\n");
    if (!driver.empty()) {
      Link(directory + "/driver", "../../../bus/pci/drivers/" + driver);
    }
  }

  const TempFolder temporary_;
  const fs::path root_ = temporary_.path();
};

TEST_F(DriverRootTest, ReadsThePciBus) {
  Pci("0000:3b:00.0", "0x10de", "0x030200", "nvidia");
  Pci("0000:00:01.0", "0x8086", "0x060000", "");
  const auto functions = *ListPci(root_ / "sys");
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_FALSE(IsNvidiaGpu(functions[0]));
  EXPECT_TRUE(IsNvidiaGpu(functions[1]));
  EXPECT_EQ(functions[1].driver, "nvidia");
  EXPECT_EQ(functions[1].device, 0x1eb8);
  EXPECT_EQ(functions[1].numa_node, -1);
}

TEST_F(DriverRootTest, SeesADriverBehindAbsoluteLinks) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "device nodes can be made by root only";
  }
  File("usr/bin/nvidia-smi", "program", 0755);
  File("usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.535.247.01");
  Link("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "/etc/alternatives/libnvidia-ml.so.1");
  Link("etc/alternatives/libnvidia-ml.so.1",
       "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.535.247.01");
  File("proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Thu\n");
  Node("dev/nvidiactl");
  Node("dev/nvidia-uvm");
  Node("dev/nvidia1");
  Node("dev/nvidia0");
  File("dev/nvidia2", "a file, no device");
  File("proc/driver/nvidia/gpus/0000:3b:00.0/information",
       "Model: \t\t Tesla T4\nDevice Minor: \t 1\nGPU Excluded:\t No\n");
  File("proc/driver/nvidia/gpus/0000:af:00.0/information",
       "Device Minor: \t 7\nGPU Excluded:\t Yes\n");
  Pci("0000:3b:00.0", "0x10de", "0x030200", "nvidia");

  const DriverObservation seen = ObserveDriver({.host_root = root_});
  EXPECT_EQ(seen.host.library,
            "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.535.247.01");
  EXPECT_EQ(seen.host.library_version, "535.247.01");
  EXPECT_EQ(seen.host.nvidia_smi, "/usr/bin/nvidia-smi");
  EXPECT_EQ(seen.module_version, "535.247.01");
  EXPECT_TRUE(seen.host_nodes.control);
  EXPECT_TRUE(seen.host_nodes.uvm);
  EXPECT_THAT(seen.module_gpus, ElementsAre(1));
  EXPECT_THAT(seen.host_nodes.gpus, ElementsAre(0, 1));
  EXPECT_THAT(seen.gpus_by_driver, ElementsAre(Pair("nvidia", 1)));
  EXPECT_EQ(JudgeDriver(seen).kind, DriverKind::kHost);
}

TEST_F(DriverRootTest, ALibraryMayLieInTheRootOfADriversFolder) {
  File("home/kubernetes/bin/nvidia/libnvidia-ml.so.1");
  const DriverPlaces places = {.host_root = root_, .driver_dir = "/home/kubernetes/bin/nvidia"};
  EXPECT_EQ(ObserveDriver(places).container.library, "/libnvidia-ml.so.1");
  EXPECT_THAT(DriverPathsToWatch(places),
              Contains(root_ / "home/kubernetes/bin/nvidia/libnvidia-ml.so.1"));
}

TEST_F(DriverRootTest, ALibraryMayLieWhereTalosExtensionsPutIt) {
  File("usr/local/bin/nvidia-smi", "program", 0755);
  File("usr/lib/libnvidia-ml.so.550.1");
  Link("usr/lib/libnvidia-ml.so.1", "libnvidia-ml.so.550.1");
  const DriverPlaces places = {.host_root = root_};
  EXPECT_EQ(ObserveDriver(places).host.library, "/usr/lib/libnvidia-ml.so.550.1");
  EXPECT_EQ(ObserveDriver(places).host.nvidia_smi, "/usr/local/bin/nvidia-smi");
  File("usr/local/glibc/usr/lib/libnvidia-ml.so.550.1");
  Link("usr/local/glibc/usr/lib/libnvidia-ml.so.1", "libnvidia-ml.so.550.1");
  EXPECT_EQ(ObserveDriver(places).host.library, "/usr/local/glibc/usr/lib/libnvidia-ml.so.550.1");
  EXPECT_THAT(DriverPathsToWatch(places),
              Contains(root_ / "usr/local/glibc/usr/lib/libnvidia-ml.so.1"));
}

TEST_F(DriverRootTest, ALibraryMayLieWhereTheLinkersCacheSays) {
  File("opt/driver/lib/libnvidia-ml.so.535.1");
  Link("opt/driver/lib/libnvidia-ml.so.1", "libnvidia-ml.so.535.1");
  EXPECT_EQ(ObserveDriver({.host_root = root_}).host.library, "");
  File("etc/ld.so.cache", elf::LibraryCache::Read("")
                              ->With({{"libnvidia-ml.so.1", "/gone/libnvidia-ml.so.1"},
                                      {"libnvidia-ml.so.1", "/opt/driver/lib/libnvidia-ml.so.1"}})
                              .Whole());
  const DriverObservation seen = ObserveDriver({.host_root = root_});
  EXPECT_EQ(seen.host.library, "/opt/driver/lib/libnvidia-ml.so.535.1");
  EXPECT_EQ(seen.host.library_version, "535.1");
  EXPECT_THAT(DriverPathsToWatch({.host_root = root_}), Contains(root_ / "etc/ld.so.cache"));
}

TEST_F(DriverRootTest, AnEmptyNodeHasNone) {
  const DriverObservation seen = ObserveDriver({.host_root = root_});
  EXPECT_EQ(seen.module_loaded, std::nullopt);
  EXPECT_EQ(JudgeDriver(seen).reason, "NoGpu");
}

TEST_F(DriverRootTest, WatchesTheLinkInItsFolder) {
  fs::create_directories(root_ / "usr/lib64");
  Link("usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.535.247.01");
  const std::string link = root_ / "usr/lib64/libnvidia-ml.so.1";
  EXPECT_THAT(DriverPathsToWatch({.host_root = root_}), Contains(link));
}

}  // namespace
}  // namespace gantry::host
