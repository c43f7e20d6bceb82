// SPDX-License-Identifier: Apache-2.0
// Where our drop-in is read among a site's own files, and where it is put if one of them would
// undo it.
#include "container/containerd_imports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kUsual[] = "/etc/containerd/conf.d/99-nvidia.toml";
constexpr char kCri[] =
    "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = \"/x\"\n";

class ImportsTest : public testing::Test {
 protected:
  void SetUp() override {
    wish_.version = {1, 7};
    Root("\"/etc/containerd/conf.d/*.toml\"");
  }

  void Root(const std::string& imports) {
    wish_.root_text = "version = 2\nimports = [" + imports + "]\n";
  }
  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  DropInPlace Place(const std::vector<std::string>& ours = {}) {
    return PlaceDropIn(root_, wish_, ours).value();
  }
  static std::vector<std::string> Paths(const DropInPlace& place) {
    std::vector<std::string> paths;
    for (const ImportedFile& file : place.imports.files) {
      paths.push_back(file.path);
    }
    return paths;
  }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
  ContainerdWish wish_;
};

TEST_F(ImportsTest, OursHasItsPlaceByItsName) {
  Put("/etc/containerd/conf.d/10-a.toml", kCri);
  Put("/etc/containerd/conf.d/zz.toml", "version = 2\noom_score = -999\n");
  Put(kUsual, "left by somebody");
  const DropInPlace place = Place();
  EXPECT_EQ(place.path, kUsual);
  EXPECT_EQ(place.remark, "");
  EXPECT_THAT(Paths(place),
              ElementsAre("/etc/containerd/conf.d/10-a.toml", "/etc/containerd/conf.d/zz.toml"));
  EXPECT_EQ(place.imports.before_ours, 1U);
  fs::remove(root_ + kUsual);
  EXPECT_EQ(Place().imports.before_ours, 1U) << "it need not be there yet";
}

TEST_F(ImportsTest, WithoutAPatternOfTheOwnersItIsReadLast) {
  Root("\"/etc/containerd/extra/*.toml\"");
  Put("/etc/containerd/extra/registries.toml", kCri);
  const DropInPlace place = Place();
  EXPECT_EQ(place.path, kUsual);
  EXPECT_FALSE(place.imports.ours_named);
  EXPECT_EQ(place.imports.before_ours, 1U);
}

TEST_F(ImportsTest, WhatContainerdReads) {
  const auto is_read = [&](const std::string& path) { return IsRead(root_, wish_, path).value(); };
  Put("/etc/containerd/conf.d/10-a.toml", "imports = [\"/opt/more/*.toml\"]\n");
  EXPECT_TRUE(is_read("/etc/containerd/conf.d/10-a.toml"));
  EXPECT_TRUE(is_read("/etc/containerd/conf.d/not-there-yet.toml"));
  EXPECT_TRUE(is_read("/etc/containerd//conf.d/../conf.d/nvidia.toml"));
  EXPECT_TRUE(is_read("/opt/more/x.toml")) << "by a file that is imported";
  EXPECT_FALSE(is_read("/etc/containerd/conf.d/nvidia.conf"));
  EXPECT_FALSE(is_read("/etc/containerd/conf.d/deeper/nvidia.toml"));
  fs::create_directory_symlink("conf.d", root_ + "/etc/containerd/link");
  EXPECT_TRUE(is_read("/etc/containerd/link/10-a.toml"));
  EXPECT_TRUE(is_read("/etc/containerd/link/not-there-yet.toml"));
}

TEST_F(ImportsTest, AFileThatWouldUndoOursIsPassed) {
  Put("/etc/containerd/conf.d/registries.toml", kCri);
  const DropInPlace place = Place();
  EXPECT_EQ(place.path, "/etc/containerd/conf.d/zz-nvidia.toml");
  EXPECT_THAT(place.remark, HasSubstr("registries.toml is read after"));
  EXPECT_EQ(place.imports.before_ours, 1U);
  Put(place.path, "ours");
  EXPECT_EQ(Place({place.path}).path, place.path) << "and so at the next start";
  Put("/etc/containerd/conf.d/zzz.toml", kCri);
  EXPECT_EQ(Place().path, "/etc/containerd/nvidia.d/99-nvidia.toml") << "by an import of its own";
  EXPECT_FALSE(Place().imports.ours_named);
  wish_.edit_root = false;
  EXPECT_EQ(Place().path, "/etc/containerd/conf.d/zzzzz-nvidia.toml");
  wish_.version = {2, 1};
  EXPECT_EQ(Place().path, kUsual) << "it puts tables together";
}

TEST_F(ImportsTest, AFolderThatIsImportedLater) {
  Root("\"/etc/containerd/conf.d/*.toml\", \"/opt/site/*.toml\"");
  Put("/opt/site/a.toml", kCri);
  EXPECT_EQ(Place().path, "/etc/containerd/nvidia.d/99-nvidia.toml");
  wish_.edit_root = false;
  EXPECT_EQ(Place().path, "/opt/site/azz-nvidia.toml");
  Root("\"/etc/containerd/conf.d/*.toml\", \"/opt/site/a.toml\"");
  EXPECT_EQ(Place().path, kUsual) << "no place is read last; the trial tells";
}

// nct#1430: the file that Docker's package of containerd brings, and its newer spellings.
TEST_F(ImportsTest, Nct1430_AFileThatSwitchesTheCriOff) {
  const auto why = [this](const std::string& root, const ImportedFiles& imports = {}) {
    wish_.root_text = root;
    return WhyNoCri(wish_, imports);
  };
  EXPECT_EQ(why("disabled_plugins = []\n"), "");
  EXPECT_EQ(why("disabled_plugins = [\"io.containerd.internal.v1.opt\"]\n"), "");
  EXPECT_THAT(why("disabled_plugins = [\"cri\"]\n"),
              HasSubstr(wish_.root_path + " has \"cri\" in disabled_plugins"));
  EXPECT_THAT(why("version = 2\ndisabled_plugins = [\"a\", \"io.containerd.grpc.v1.cri\"]\n"),
              HasSubstr("io.containerd.grpc.v1.cri"));
  const ImportedFiles imports = {
      .files = {{"/etc/x.toml", "disabled_plugins = ['io.containerd.cri.v1.runtime']\n"}}};
  EXPECT_THAT(why("version = 3\n", imports), HasSubstr("/etc/x.toml has"));
}

}  // namespace
}  // namespace gantry::container
