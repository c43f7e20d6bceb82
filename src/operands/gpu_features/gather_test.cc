// SPDX-License-Identifier: Apache-2.0
// The child that asks the driver, where there is none. What a driver tells, and one that never
// answers, is tested with the fake one (tests/component/test_gpu_features.py).
#include "operands/gpu_features/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::gpu_features {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class GathererTest : public testing::Test {
 protected:
  GathererTest() { fs::create_directories(root_ / "usr/lib64"); }
  Sources FromRoot() const {
    return {.driver_root = root_, .dev_root = "", .sys_root = root_, .machine_type_file = ""};
  }
  const TempFolder temporary_;
  const fs::path root_ = temporary_.path();
  Gatherer gatherer_;
};

TEST_F(GathererTest, NoLibraryIsNotFound) {
  const auto facts = gatherer_.Ask(FromRoot(), std::chrono::seconds(20), -1);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(facts.error().message, HasSubstr("find libnvidia-ml.so.1 under " + root_.string()));
}

TEST_F(GathererTest, AFileThatIsNoLibraryIsNotFoundAndAskedAnew) {
  std::ofstream(root_ / "usr/lib64/libnvidia-ml.so.1") << "no library";
  for (int i = 0; i < 2; ++i) {
    const auto facts = gatherer_.Ask(FromRoot(), std::chrono::seconds(20), -1);
    ASSERT_FALSE(facts.has_value());
    EXPECT_EQ(facts.error().kind, ErrorKind::kNotFound);
  }
}

// GPUs that vfio-pci holds, on a host with that pci.ids, in our image.
class VfioTest : public GathererTest {
 protected:
  void Put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::vector<std::string> NamesOf(const std::vector<std::string>& devices,
                                   const std::string& host_database) const {
    for (size_t i = 0; i < devices.size(); ++i) {
      const std::string function = "sys/bus/pci/devices/0000:00:1" + std::to_string(i) + ".0/";
      Put(function + "vendor", "0x10de\n");
      Put(function + "device", devices[i] + "\n");
      Put(function + "class", "0x030200\n");
      fs::create_symlink("../../drivers/vfio-pci", root_ / function / "driver");
    }
    if (!host_database.empty()) {
      Put("host/usr/share/misc/pci.ids", host_database);
    }
    fs::create_directories(root_ / "own/usr/share/misc");
    fs::copy_file("deploy/image/pci.ids", root_ / "own/usr/share/misc/pci.ids");
    const auto facts = Gather({.driver_root = "",
                               .dev_root = "",
                               .sys_root = root_ / "sys",
                               .machine_type_file = "",
                               .host_root = root_ / "host",
                               .own_root = root_ / "own",
                               .vfio = true});
    std::vector<std::string> names;
    for (const nvml::Device& gpu : facts.value().gpus) {
      names.push_back(gpu.name);
    }
    return names;
  }
};

TEST_F(VfioTest, AHostWithoutADatabaseHasTheImages) {
  EXPECT_THAT(NamesOf({"0x1eb8", "0x20b2", "0x2901"}, ""),
              testing::ElementsAre("TU104GL [Tesla T4]", "GA100 [A100 SXM4 80GB]", "GB100 [B200]"));
}

TEST_F(VfioTest, TheHostsDatabaseComesFirstAndMayBeOld) {
  EXPECT_THAT(NamesOf({"0x1eb8", "0x2330", "0xffff"}, "10de  NVIDIA\n\t1eb8  The T4\n"),
              testing::ElementsAre("The T4", "GH100 [H100 SXM5 80GB]", "Device ffff"));
}

}  // namespace
}  // namespace gantry::gpu_features
