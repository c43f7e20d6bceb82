// SPDX-License-Identifier: Apache-2.0
#include "doctor/archive.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"

namespace gantry::doctor {
namespace {

namespace fs = std::filesystem;

class ArchiveTest : public ::testing::Test {
 protected:
  [[nodiscard]] auto Create() const { return Archive::Create(Path(), "folder", WallTime()); }
  [[nodiscard]] std::string Path() const { return folder_ / "b.tar.gz"; }
  [[nodiscard]] std::string Partial() const { return folder_ / "b.tar.gz.partial"; }

  const TempFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

constexpr fs::perms kOwner = fs::perms::owner_read | fs::perms::owner_write;

TEST_F(ArchiveTest, StandsUnderItsNameWhenItIsWhole) {
  {
    const auto archive = Create();
    ASSERT_TRUE(archive.has_value()) << archive.error().message;
    ASSERT_TRUE((*archive)->Add("a", "text").has_value());
    EXPECT_FALSE(fs::exists(Path()));
    ASSERT_TRUE((*archive)->Finish().has_value());
    EXPECT_EQ((*archive)->files(), 1U);
  }
  EXPECT_EQ(fs::status(Path()).permissions(), kOwner);
  EXPECT_FALSE(fs::exists(Partial()));
}

TEST_F(ArchiveTest, NothingIsLeftOfOneThatIsNotWhole) {
  ASSERT_TRUE(Create().has_value());
  EXPECT_TRUE(fs::is_empty(folder_));
}

// Others could read what is written into a file of theirs.
TEST_F(ArchiveTest, WhatIsThereAlreadyIsNotWrittenTo) {
  std::ofstream(folder_ / "other") << "other";
  for (const bool link : {true, false}) {
    if (link) {
      fs::create_symlink(folder_ / "other", Partial());
    } else {
      std::ofstream(Partial()) << "left";
      fs::permissions(Partial(), fs::perms::all);
    }
    const auto archive = Create();
    ASSERT_TRUE(archive.has_value()) << archive.error().message;
    EXPECT_FALSE(fs::is_symlink(Partial()));
    EXPECT_EQ(fs::status(Partial()).permissions(), kOwner);
    EXPECT_EQ(ReadFile(folder_ / "other").value(), "other");
  }
}

}  // namespace
}  // namespace gantry::doctor
