// SPDX-License-Identifier: Apache-2.0
// Whether a file is replaced entirely, with its owner and mode, also beside other writers and
// killed ones.
#include "host/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing/temp_folder.h"

namespace gantry::host {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(FilesTest, KeepsModeOfWhatItReplaces) {
  const std::string path = folder_ + "/a";
  ASSERT_TRUE(WriteFileAtomic(path, "1", 0600).has_value());
  EXPECT_EQ(Inspect(path)->mode, 0600U);
  ASSERT_TRUE(WriteFileAtomic(path, "2", 0755).has_value());
  EXPECT_EQ(Inspect(path)->mode, 0600U);
  EXPECT_EQ(ReadFile(path).value(), "2");
}

TEST_F(FilesTest, EqualContentIsNotWritten) {
  const std::string path = folder_ + "/a";
  EXPECT_TRUE(WriteIfDifferent(path, "1").value());
  const auto before = Inspect(path)->modified_ns;
  EXPECT_FALSE(WriteIfDifferent(path, "1").value());
  EXPECT_EQ(Inspect(path)->modified_ns, before);
  EXPECT_TRUE(WriteIfDifferent(path, "2").value());
}

TEST_F(FilesTest, AKilledWritersRestIsTakenOver) {
  const std::string path = folder_ + "/a";
  std::ofstream(TemporaryPathOf(path)) << "half of a much longer text";
  ASSERT_TRUE(WriteFileAtomic(path, "1").has_value());
  EXPECT_EQ(ReadFile(path).value(), "1");
  EXPECT_EQ(ListDirectory(folder_)->size(), 1U);
}

TEST_F(FilesTest, TwoWritersDoNotMix) {
  const std::string path = folder_ + "/a";
  const auto write = [&](char letter) {
    const std::string text(100000, letter);
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(WriteFileAtomic(path, text).has_value());
    }
  };
  std::thread other(write, 'a');
  write('b');
  other.join();
  const std::string text = ReadFile(path).value();
  EXPECT_EQ(text.size(), 100000U);
  EXPECT_EQ(text.find_first_not_of(text.front()), std::string::npos);
  EXPECT_EQ(ListDirectory(folder_)->size(), 1U);
}

TEST_F(FilesTest, DirectoriesThatWereMadeAreTold) {
  const auto made = MakeDirectories(folder_ + "/b/c");
  EXPECT_EQ(made.value(), (std::vector<std::string>{folder_ + "/b", folder_ + "/b/c"}));
  EXPECT_TRUE(MakeDirectories(folder_ + "/b/c")->empty());
  std::ofstream(folder_ + "/file") << "";
  EXPECT_FALSE(MakeDirectories(folder_ + "/file/x").has_value());
}

}  // namespace
}  // namespace gantry::host
