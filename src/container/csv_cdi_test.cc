// SPDX-License-Identifier: Apache-2.0
// The mount lists of Tegra boards, and the devices beside GPUs.
#include "container/csv_cdi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"
#include "container/special_cdi.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = CsvLine::Kind;

TEST(Csv, Lines) {
  const auto lines = ParseCsv(
      "# of the board\n\ndev, /dev/nvhost-gpu\n lib ,/usr/lib/a.so.1\n"
      "sym, /usr/lib/a.so\ndir, /lib/firmware/tegra");
  ASSERT_TRUE(lines.has_value()) << lines.error().message;
  EXPECT_THAT(*lines, ElementsAre(CsvLine{Kind::kDevice, "/dev/nvhost-gpu"},
                                  CsvLine{Kind::kLibrary, "/usr/lib/a.so.1"},
                                  CsvLine{Kind::kLink, "/usr/lib/a.so"},
                                  CsvLine{Kind::kFolder, "/lib/firmware/tegra"}));
  EXPECT_THAT(ParseCsv("dev, /a\nmount, /b").error().message, HasSubstr("line 2"));
  EXPECT_FALSE(ParseCsv("dev, relative").has_value());
  EXPECT_FALSE(ParseCsv("dev").has_value());
}

TEST(Csv, Document) {
  CsvInput input;
  input.kind = "nvidia.com/gpu";
  input.hook = {"/t/nvidia-cdi-hook", true};
  input.compat_folder = "/usr/local/cuda/compat_orin";
  input.ignored = {"*/ignored.so*"};
  input.lines = {{Kind::kDevice, "/dev/nvmap"},
                 {Kind::kLibrary, "/usr/lib/a.so.1"},
                 {Kind::kLibrary, "/usr/lib/ignored.so.1"},
                 {Kind::kLibrary, "/usr/lib/gone.so.1"},
                 {Kind::kLink, "/usr/lib/a.so"},
                 {Kind::kFolder, "/usr/lib/x"},
                 {Kind::kDevice, "/dev/nvmap"}};
  input.real = [](const std::string& path) {
    return path == "/usr/lib/gone.so.1" ? ""
           : path == "/usr/lib/a.so.1"  ? "/usr/lib/a.so.1.2"
                                        : path;
  };
  input.target = [](const std::string&) { return "a.so.1"; };
  const CdiSpec spec = CsvCdi(input);
  EXPECT_THAT(spec.edits.device_nodes, ElementsAre(CdiDeviceNode{"/dev/nvmap", ""}));
  ASSERT_EQ(spec.edits.mounts.size(), 2U);
  EXPECT_EQ(spec.edits.mounts[0].host_path, "/usr/lib/a.so.1.2");
  EXPECT_EQ(spec.edits.mounts[0].container_path, "/usr/lib/a.so.1");
  EXPECT_EQ(spec.edits.mounts[1].container_path, "/usr/lib/x");
  EXPECT_THAT(spec.edits.hooks.at(0).args,
              ElementsAre("nvidia-cdi-hook", "create-container", "--link", "a.so.1::/usr/lib/a.so",
                          "--cuda-compat-container-root", "/usr/local/cuda/compat_orin", "--folder",
                          "/usr/lib"));
  input.hook.path = "/usr/bin/nvidia-ctk";
  input.lines = {{Kind::kLibrary, "/usr/lib/a.so.1"}};
  input.compat_folder = "";
  EXPECT_THAT(CsvCdi(input).edits.hooks.at(0).args,
              ElementsAre("nvidia-ctk", "hook", "create-container", "--folder", "/usr/lib"));
  input.lines.clear();
  EXPECT_THAT(CsvCdi(input).edits.hooks, testing::IsEmpty()) << "there is nothing to do";
  EXPECT_EQ(spec.devices.at(0).name, "all");
}

class SpecialTest : public testing::Test {
 protected:
  void SetUp() override { place_.root = place_.dev_root = place_.run_root = root_; }
  void Put(const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << path;
  }
  std::vector<std::string> Nodes(const CdiEdits& edits) {
    std::vector<std::string> paths;
    for (const CdiDeviceNode& node : edits.device_nodes) {
      paths.push_back(node.path);
    }
    return paths;
  }
  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
  DriverPlace place_;
};

TEST_F(SpecialTest, EachModeHasItsNodes) {
  for (const char* node :
       {"/dev/nvidia-fs0", "/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm", "/dev/gdrdrv",
        "/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch0", "/run/udev/x", "/etc/cufile.json"}) {
    Put(node);
  }
  const auto nodes = [&](const std::string& mode) {
    return Nodes(SpecialCdi(mode, "a.com/b", place_, {"/h", true}).value().devices.at(0).edits);
  };
  EXPECT_THAT(nodes("gds"), ElementsAre("/dev/nvidia-fs0"));
  EXPECT_THAT(nodes("mofed"), ElementsAre("/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"));
  EXPECT_THAT(nodes("gdrcopy"), ElementsAre("/dev/gdrdrv"));
  EXPECT_THAT(nodes("nvswitch"), ElementsAre("/dev/nvidia-nvswitch0", "/dev/nvidia-nvswitchctl"));
  EXPECT_EQ(SpecialCdi("gds", "a.com/b", place_, {})->devices.at(0).edits.mounts.size(), 2U);
  EXPECT_EQ(SpecialCdi("imex", "a.com/b", place_, {}).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(SpecialCdi("magic", "a.com/b", place_, {}).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(SpecialCdiKind("nvidia.com", "imex"), "nvidia.com/imex-channel");
  EXPECT_EQ(SpecialCdiKind("nvidia.com", "gds"), "nvidia.com/gds");
}

TEST_F(SpecialTest, ImexHasADeviceForEachChannel) {
  Put("/dev/nvidia-caps-imex-channels/channel0");
  Put("/dev/nvidia-caps-imex-channels/channel17");
  const CdiSpec spec = SpecialCdi("imex", "nvidia.com/imex-channel", place_, {}).value();
  ASSERT_EQ(spec.devices.size(), 2U);
  EXPECT_EQ(spec.devices[1].name, "17");
  EXPECT_THAT(Nodes(spec.devices[1].edits),
              ElementsAre("/dev/nvidia-caps-imex-channels/channel17"));
}

TEST_F(SpecialTest, WindowsDriverStore) {
  Put("/dev/dxg");
  EXPECT_EQ(SpecialCdi("wsl", "a.com/b", place_, {"/h", true}).error().kind, ErrorKind::kNotFound);
  Put("/usr/lib/wsl/lib/libdxcore.so");
  for (const char* name : {"libcuda.so.1.1", "nvidia-smi", "nvcubins.bin", "readme.txt"}) {
    Put(std::string("/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1/") + name);
  }
  const CdiSpec spec = SpecialCdi("wsl", "a.com/b", place_, {"/h", true}).value();
  EXPECT_EQ(spec.devices.at(0).edits.mounts.size(), 4U) << "libdxcore and three of the store";
  EXPECT_THAT(spec.devices.at(0).edits.hooks.at(0).args,
              testing::Contains("/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1"));
  const CdiSpec of_ctk = SpecialCdi("wsl", "a.com/b", place_, {"/usr/bin/nvidia-ctk"}).value();
  EXPECT_EQ(of_ctk.devices.at(0).edits.hooks.at(0).args.at(1), "hook");
}

}  // namespace
}  // namespace gantry::container
