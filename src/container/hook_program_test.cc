// SPDX-License-Identifier: Apache-2.0
// Whose hook program lies on a host?
#include "container/hook_program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;

class HookProgramTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_ + "/usr/bin"); }

  void Put(const std::string& path, const std::string& text, bool runs = true) {
    std::ofstream(root_ + path) << text;
    fs::permissions(root_ + path, runs ? fs::perms::owner_all : fs::perms::owner_read);
  }
  HookMaker Maker() { return MakerOfHook(root_, "/usr/bin/nvidia-ctk"); }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
};

TEST_F(HookProgramTest, IsKnownByWhatStandsInItsFile) {
  EXPECT_EQ(Maker(), HookMaker::kAbsent);
  EXPECT_EQ(MakerOfHook(root_, ""), HookMaker::kAbsent);
  Put("/usr/bin/nvidia-ctk", "#!/bin/sh\nexec nvidia-ctk.real \"$@\"\n");
  EXPECT_EQ(Maker(), HookMaker::kOther) << "a script, as NVIDIA's toolkit installs it";
  const std::string marker = HookMarker();
  // Wherever it stands: also across the pieces that are read at a time.
  const size_t piece = size_t{64} << 10;
  for (const size_t before : {size_t{0}, piece - 5, piece, piece + marker.size(), 3 * piece - 1}) {
    Put("/usr/bin/nvidia-ctk", std::string(before, '.') + marker + "....");
    EXPECT_EQ(Maker(), HookMaker::kGantry) << before;
    Put("/usr/bin/nvidia-ctk",
        std::string(before, '.') + marker.substr(0, marker.size() - 1) + "....");
    EXPECT_EQ(Maker(), HookMaker::kOther) << "of a time with other flags; " << before;
  }
  Put("/usr/bin/nvidia-ctk", marker, false);
  EXPECT_EQ(Maker(), HookMaker::kAbsent) << "it can't be run";
}

TEST_F(HookProgramTest, LinksLeadThroughTheHostsRoot) {
  fs::create_directories(root_ + "/opt/toolkit");
  Put("/opt/toolkit/program", HookMarker());
  fs::create_symlink("/opt/toolkit/program", root_ + "/usr/bin/nvidia-ctk");
  EXPECT_EQ(Maker(), HookMaker::kGantry);
  fs::remove(root_ + "/opt/toolkit/program");
  EXPECT_EQ(Maker(), HookMaker::kAbsent);
  fs::create_directories(root_ + "/opt/toolkit/program");
  EXPECT_EQ(Maker(), HookMaker::kAbsent) << "a folder is no program";
}

}  // namespace
}  // namespace gantry::container
