// SPDX-License-Identifier: Apache-2.0
// A CUDA toolkit as it lies in an image, copied into a folder of the host.
#include "operands/cuda_toolkit/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"

namespace gantry::cuda_toolkit {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class CopyTest : public testing::Test {
 protected:
  void SetUp() override {
    image_ = folder_ + "/image";
    to_ = folder_ + "/var/cuda";
    Fill(image_ + "/usr/local/cuda-12.4");
  }

  static void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }

  // As NVIDIA's packages lay it out.
  static void Fill(const std::string& cuda) {
    const std::string lib = cuda + "/targets/x86_64-linux/lib";
    Put(lib + "/libcudart.so.12.4.127", "library");
    fs::create_symlink("libcudart.so.12.4.127", lib + "/libcudart.so.12");
    fs::create_symlink("/usr/local/cuda-12.4/targets/x86_64-linux/lib", cuda + "/lib64");
    Put(cuda + "/bin/nvcc", "program");
    ::chmod((cuda + "/bin/nvcc").c_str(), 0750);
    Put(cuda + "/version.json", R"({"cuda": {"version": "12.4.1"}})");
  }

  Result<Copied> Copy(const std::string& version = "12.4") const {
    return CopyToolkit({version, image_, to_});
  }
  std::vector<std::string> Copies() const { return *ListDirectory(CopiesDir(to_)); }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::string image_;
  std::string to_;
};

TEST_F(CopyTest, IsWholeAndStandsOnItsOwn) {
  const auto copied = Copy();
  ASSERT_TRUE(copied.has_value()) << copied.error().message;
  EXPECT_TRUE(copied->written);
  EXPECT_EQ(copied->version, "12.4.1");
  const std::string cuda = to_ + "/cuda-12.4";
  EXPECT_EQ(fs::read_symlink(cuda), "versions/" + BaseName(copied->path));
  EXPECT_EQ(*ReadFile(cuda + "/lib64/libcudart.so.12"), "library") << "the link leads into it";
  EXPECT_EQ(fs::status(cuda + "/bin/nvcc").permissions(), static_cast<fs::perms>(0755));
  EXPECT_EQ(fs::status(cuda + "/version.json").permissions(), static_cast<fs::perms>(0644));
}

TEST_F(CopyTest, IsMadeOnce) {
  ASSERT_TRUE(Copy().has_value());
  const auto again = Copy();
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->written);
  EXPECT_EQ(Copies().size(), 1U);
}

TEST_F(CopyTest, ADamagedOneIsMadeAnewAndAnUnfinishedOneGoes) {
  ASSERT_TRUE(Copy().has_value());
  const std::string name = Copies().front();
  fs::remove(to_ + "/cuda-12.4/bin/nvcc");
  Put(CopiesDir(to_) + "/.unfinished/half", "");
  const auto again = Copy();
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->written);
  EXPECT_TRUE(fs::exists(to_ + "/cuda-12.4/bin/nvcc"));
  EXPECT_THAT(Copies(), ElementsAre(name, name + ".damaged-1"));
}

TEST_F(CopyTest, AnotherPatchTakesTheLinkAndLeavesTheOldCopy) {
  ASSERT_TRUE(Copy().has_value());
  Put(image_ + "/usr/local/cuda-12.4/version.json", R"({"cuda": {"version": "12.4.0"}})");
  const auto other = Copy();
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(Copies().size(), 2U);
  EXPECT_EQ(fs::read_symlink(to_ + "/cuda-12.4"), "versions/" + BaseName(other->path));
}

TEST_F(CopyTest, PlacesWhereAToolkitMayBe) {
  const std::string cuda = image_ + "/usr/local/cuda-12.4";
  for (const char* place : {"/usr/local/cuda", "/cuda-12.4", "/"}) {
    SCOPED_TRACE(place);
    const std::string image = folder_ + "/other";
    fs::remove_all(image);
    fs::create_directories(fs::path(image + place).parent_path());
    fs::copy(cuda, image + place, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    // A volume's own links are relative: there is no /usr/local/cuda-12.4 below it.
    const std::string link = image + place + "/lib64";
    fs::remove(link);
    fs::create_symlink("targets/x86_64-linux/lib", link);
    const auto copied = CopyToolkit({"12.4", image, to_});
    ASSERT_TRUE(copied.has_value()) << copied.error().message;
    EXPECT_EQ(*ReadFile(to_ + "/cuda-12.4/lib64/libcudart.so.12"), "library");
  }
}

TEST_F(CopyTest, WhatIsNotTheVersionIsNamed) {
  const auto other = Copy("12.4.7");
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(other.error().message, HasSubstr("/usr/local/cuda-12.4: it is CUDA 12.4.1, not"));
  const auto missing = Copy("11.4");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("its usr/local holds cuda-12.4"));
  EXPECT_FALSE(fs::exists(to_));
}

}  // namespace
}  // namespace gantry::cuda_toolkit
