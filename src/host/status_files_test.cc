// SPDX-License-Identifier: Apache-2.0
#include "host/status_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing/temp_folder.h"
#include "host/signals.h"
#include "host/watch.h"

namespace gantry::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;
namespace fs = std::filesystem;

class StatusFilesTest : public ::testing::Test {
 protected:
  const TempFolder temporary_;
  const fs::path root_ = temporary_.path();
  StatusFiles today_{root_ / "validations", "boot-2"};
  StatusFiles yesterday_{root_ / "validations", "boot-1"};
};

TEST_F(StatusFilesTest, ParsesLines) {
  EXPECT_THAT(ParseStatusFile("A=1\n\nB = \"two words\"\nnonsense\nC='x=y'\n"),
              ElementsAre(Pair("A", "1"), Pair("B", "two words"), Pair("C", "x=y")));
}

TEST_F(StatusFilesTest, WhatIsWrittenIsRead) {
  EXPECT_TRUE(*today_.Write("driver-ready", {{"IS_HOST_DRIVER", "true"}}, "validator"));
  EXPECT_THAT(*today_.Read("driver-ready"),
              ElementsAre(Pair("GANTRY_BOOT_ID", "boot-2"), Pair("GANTRY_OWNER", "validator"),
                          Pair("IS_HOST_DRIVER", "true")));
}

TEST_F(StatusFilesTest, AnEqualFileIsNotTouched) {
  ASSERT_TRUE(*today_.Write("driver-ready", {{"A", "1"}}, "validator"));
  EXPECT_FALSE(*today_.Write("driver-ready", {{"A", "1"}}, "validator"));
  EXPECT_TRUE(*today_.Write("driver-ready", {{"A", "2"}}, "validator"));
}

TEST_F(StatusFilesTest, AFileOfAnotherBootDoesNotCount) {
  ASSERT_TRUE(*yesterday_.Write("driver-ready", {}, "validator"));
  EXPECT_EQ(today_.Read("driver-ready").error().kind, ErrorKind::kNotFound);
}

TEST_F(StatusFilesTest, AFileWithoutABootCountsIfItIsYounger) {
  fs::create_directory(root_ / "validations");
  std::ofstream(root_ / "validations/toolkit-ready") << "";
  EXPECT_TRUE(today_.Read("toolkit-ready"));
  const timespec old[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (root_ / "validations/toolkit-ready").c_str(), old, 0), 0);
  EXPECT_EQ(today_.Read("toolkit-ready").error().kind, ErrorKind::kNotFound);
}

TEST(StatusFiles, OnATmpfsNothingIsOfAnEarlierBoot) {
  std::string folder = "/dev/shm/gantry-status-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(fs::path(folder) / ".driver-ctr-ready") << "";
  const timespec old[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (fs::path(folder) / ".driver-ctr-ready").c_str(), old, 0), 0);
  EXPECT_TRUE(StatusFiles(folder, "boot").Read(".driver-ctr-ready"))
      << "the clock was set forward since";
  fs::remove_all(folder);
}

TEST_F(StatusFilesTest, RemoveTellsWhetherThereWasOne) {
  ASSERT_TRUE(*today_.Write("cuda-ready", {}, "validator"));
  EXPECT_TRUE(*today_.Remove("cuda-ready"));
  EXPECT_FALSE(*today_.Remove("cuda-ready"));
}

TEST_F(StatusFilesTest, WaitsForAllOfThisBoot) {
  ASSERT_TRUE(*yesterday_.Write("toolkit-ready", {}, "validator"));
  StopEvent stop;
  std::thread writer([this] {
    EXPECT_TRUE(today_.Write("driver-ready", {}, "validator"));
    std::filesystem::remove_all(root_ / "validations");
    EXPECT_TRUE(today_.Write("toolkit-ready", {}, "validator"));
    EXPECT_TRUE(today_.Write("driver-ready", {}, "validator"));
  });
  EXPECT_TRUE(*today_.WaitFor({"driver-ready", "toolkit-ready"}, stop.fd()));
  writer.join();
}

TEST_F(StatusFilesTest, AStopEndsTheWait) {
  StopEvent stop;
  stop.Stop();
  EXPECT_FALSE(*today_.WaitFor({"driver-ready"}, stop.fd()));
}

TEST(SignalsTest, AreReadAsDescriptors) {
  Signals signals;
  EXPECT_FALSE(signals.stop_requested());
  EXPECT_FALSE(signals.TakeReload());
  raise(SIGHUP);
  EXPECT_TRUE(signals.TakeReload());
  EXPECT_FALSE(signals.TakeReload());
  raise(SIGTERM);
  EXPECT_TRUE(signals.stop_requested());
  EXPECT_TRUE(signals.stop_requested());
}

}  // namespace
}  // namespace gantry::host
