// SPDX-License-Identifier: Apache-2.0
// Whether links of a foreign root stay inside it, and patterns find what glob(3) would.
#include "base/paths.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

class PathsTest : public testing::Test {
 protected:
  void Touch(const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << path;
  }
  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
};

TEST_F(PathsTest, AbsoluteLinkStaysInTheRoot) {
  Touch("/run/cdi/a.yaml");
  fs::create_directories(root_ + "/var");
  fs::create_symlink("/run", root_ + "/var/run");
  EXPECT_EQ(ResolveInRoot(root_, "/var/run/cdi/a.yaml").value(), root_ + "/run/cdi/a.yaml");
}

TEST_F(PathsTest, DotDotStopsAtTheRoot) {
  fs::create_directories(root_ + "/a");
  fs::create_symlink("../../../../etc", root_ + "/a/out");
  EXPECT_EQ(ResolveInRoot(root_, "/a/out/passwd").value(), root_ + "/etc/passwd");
  EXPECT_EQ(ResolveInRoot(root_, "/../..").value(), root_);
}

TEST_F(PathsTest, WhatIsMissingIsAppended) {
  EXPECT_EQ(ResolveInRoot(root_, "/no/such/file").value(), root_ + "/no/such/file");
  EXPECT_EQ(ResolveInRoot("/", "/no/such/file").value(), "/no/such/file");
  EXPECT_EQ(ResolveInRoot("/", "/").value(), "/");
}

TEST_F(PathsTest, LinksThatGoRoundAreAnError) {
  fs::create_symlink("/b", root_ + "/a");
  fs::create_symlink("/a", root_ + "/b");
  EXPECT_EQ(ResolveInRoot(root_, "/a").error().kind, ErrorKind::kInvalid);
}

TEST_F(PathsTest, GlobFindsThroughLinksOfTheRoot) {
  Touch("/usr/lib/x/libcuda.so.535.1");
  Touch("/usr/lib/x/libz.so.1");
  fs::create_symlink("/usr/lib", root_ + "/lib");
  const auto found = GlobInRoot(root_, "/lib/*/libcuda.so.*.*");
  EXPECT_EQ(found.value(), std::vector<std::string>{root_ + "/lib/x/libcuda.so.535.1"});
  EXPECT_TRUE(GlobInRoot(root_, "/none/*").value().empty());
}

TEST_F(PathsTest, ReadFileSaysNotFound) {
  EXPECT_EQ(ReadFile(root_ + "/none").error().kind, ErrorKind::kNotFound);
  Touch("/f");
  EXPECT_EQ(ReadFile(root_ + "/f").value(), "/f");
}

TEST_F(PathsTest, DescriptorsGiveAndTakeAllOfIt) {
  const std::string path = root_ + "/f";
  const std::string content(1 << 20, 'x');
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(WriteDescriptor(fd, content, path).has_value());
  ASSERT_EQ(::lseek(fd, 0, SEEK_SET), 0);
  EXPECT_EQ(ReadDescriptor(fd, path).value(), content);
  ::close(fd);
  EXPECT_EQ(WriteDescriptor(fd, "x", "the answer").error().message,
            "write the answer: Bad file descriptor");
}

TEST(Paths, Parts) {
  EXPECT_EQ(JoinPath("/", "/b"), "/b");
  EXPECT_EQ(JoinPath("/a/", "b"), "/a/b");
  EXPECT_EQ(ParentOf("/a/b"), "/a");
  EXPECT_EQ(ParentOf("/a"), "/");
  EXPECT_EQ(BaseName("/a/b"), "b");
  EXPECT_EQ(WithoutRoot("/host", "/host/etc/x").value(), "/etc/x");
  EXPECT_EQ(WithoutRoot("/host", "/hostile").has_value(), false);
  EXPECT_EQ(WithoutRoot("/", "/etc").value(), "/etc");
}

}  // namespace
}  // namespace gantry
