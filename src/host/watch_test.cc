// SPDX-License-Identifier: Apache-2.0
#include "host/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing/temp_folder.h"

namespace gantry::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class WatchTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text = "x") const {
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] std::string Path(const std::string& path) const { return root_ / path; }
  // What changed within a second.
  std::vector<std::string> Next() {
    return watcher_.Next(-1, std::chrono::steady_clock::now() + std::chrono::seconds(1)).changed;
  }
  std::vector<std::string> Soon() {
    return watcher_.Next(-1, std::chrono::steady_clock::now() + std::chrono::milliseconds(20))
        .changed;
  }

  const TempFolder temporary_;
  const fs::path root_ = temporary_.path();
  Watcher watcher_ = *Watcher::Create();
};

TEST_F(WatchTest, TellsAFileThatIsWritten) {
  ASSERT_TRUE(watcher_.Add(Path("file")));
  Write("file");
  EXPECT_THAT(Next(), ElementsAre(Path("file")));
}

TEST_F(WatchTest, TellsEntriesOfADirectory) {
  fs::create_directory(root_ / "d");
  ASSERT_TRUE(watcher_.Add(Path("d")));
  Write("d/entry");
  EXPECT_THAT(Next(), ElementsAre(Path("d")));
  fs::remove(root_ / "d/entry");
  EXPECT_THAT(Next(), ElementsAre(Path("d")));
}

TEST_F(WatchTest, OtherFilesDoNotCount) {
  ASSERT_TRUE(watcher_.Add(Path("file")));
  Write("files");
  EXPECT_THAT(Soon(), IsEmpty());
}

TEST_F(WatchTest, SeesWhatIsMadeWithItsParents) {
  ASSERT_TRUE(watcher_.Add(Path("a/b/c/file")));
  fs::create_directories(root_ / "a/b/c");
  Write("a/b/c/file");
  EXPECT_THAT(Next(), ElementsAre(Path("a/b/c/file")));
  while (!Soon().empty()) {
  }
  Write("a/b/c/file", "again");
  EXPECT_THAT(Next(), ElementsAre(Path("a/b/c/file")));
}

TEST_F(WatchTest, SurvivesTheDirectoryBeingMadeAnew) {
  fs::create_directories(root_ / "run/nvidia/validations");
  ASSERT_TRUE(watcher_.Add(Path("run/nvidia/validations")));
  for (int round = 0; round < 3; ++round) {
    fs::remove_all(root_ / "run/nvidia");
    EXPECT_THAT(Next(), ElementsAre(Path("run/nvidia/validations")));
    fs::create_directories(root_ / "run/nvidia/validations");
    EXPECT_THAT(Next(), ElementsAre(Path("run/nvidia/validations")));
    while (!Soon().empty()) {
    }
    Write("run/nvidia/validations/driver-ready");
    EXPECT_THAT(Next(), ElementsAre(Path("run/nvidia/validations")));
    while (!Soon().empty()) {
    }
  }
}

TEST_F(WatchTest, FollowsAParentThatWasRenamedAway) {
  fs::create_directories(root_ / "a/b");
  ASSERT_TRUE(watcher_.Add(Path("a/b/file")));
  fs::rename(root_ / "a", root_ / "old");
  EXPECT_THAT(Next(), ElementsAre(Path("a/b/file")));
  while (!Soon().empty()) {
  }
  Write("old/b/file");
  EXPECT_THAT(Soon(), IsEmpty());
  fs::create_directories(root_ / "a/b");
  Write("a/b/file");
  EXPECT_THAT(Next(), ElementsAre(Path("a/b/file")));
}

TEST_F(WatchTest, ExistenceOnlyIsNotWokenByWrites) {
  Write("node");
  ASSERT_TRUE(watcher_.Add(Path("node"), Watcher::For::kExistence));
  Write("node", "again");
  EXPECT_THAT(Soon(), IsEmpty());
  fs::remove(root_ / "node");
  EXPECT_THAT(Next(), ElementsAre(Path("node")));
}

TEST_F(WatchTest, AStopEndsTheWait) {
  StopEvent stop;
  EXPECT_FALSE(stop.stopped());
  std::thread stopper([&stop] { stop.Stop(); });
  EXPECT_TRUE(watcher_.Next(stop.fd()).stopped);
  stopper.join();
  EXPECT_TRUE(stop.stopped());
}

}  // namespace
}  // namespace gantry::host
