// SPDX-License-Identifier: Apache-2.0
// The container as a process, where nothing serves: no kernel is touched.
#include "operands/driver/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DriverTest : public testing::Test {
 protected:
  DriverTest() {
    fs::create_directories(root_ + "/run/nvidia/validations");
    std::ofstream(root_ + "/termination-log") << "";
  }
  ~DriverTest() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }

  // The exit code.
  int Run(std::vector<std::string> words) const {
    words.insert(
        words.begin(),
        {"nvidia-driver", "--root", root_, "--driver-version", "535.247.01", "--kernel-release",
         "6.1.0-50-amd64", "--sources", root_ + "/src", "--precompiled", root_ + "/precompiled",
         "--cache", root_ + "/cache", "--termination-log", root_ + "/termination-log"});
    std::vector<char*> argv;
    argv.reserve(words.size());
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    return RunDriver(static_cast<int>(argv.size()), argv.data());
  }
  void Start() {
    child_ = fork();
    if (child_ == 0) {
      _exit(Run({"init"}));
    }
  }
  int Stop() {
    int status = 0;
    kill(child_, SIGTERM);
    waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string Reason() const {
    return ReadFile(root_ + "/termination-log").value_or("none");
  }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
  pid_t child_ = 0;
};

TEST_F(DriverTest, StaysWithItsReasonWhereTheNodeLooks) {
  const std::string folder = root_ + "/run/nvidia/validations";
  host::Watcher watcher = *host::Watcher::Create();
  ASSERT_TRUE(watcher.Add(folder).has_value());
  Start();
  const auto files = *host::StatusFiles::Open(folder);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!files.Read(names::kDriverCtrFailed)) {
    ASSERT_FALSE(watcher.Next(-1, deadline).changed.empty()) << "no reason after 20 s";
  }
  EXPECT_THAT(files.Read(names::kDriverCtrFailed)->at("MESSAGE"),
              HasSubstr("no package of modules 6.1.0-50-amd64/535.247.01"));
  EXPECT_THAT(Reason(), HasSubstr("no headers of kernel 6.1.0-50-amd64"));
  EXPECT_EQ(waitpid(child_, nullptr, WNOHANG), 0);  // it stays
  EXPECT_EQ(Stop(), 1);
  EXPECT_FALSE(files.Read(names::kDriverCtrFailed).has_value());
  EXPECT_THAT(Reason(), HasSubstr("no headers of kernel"));
}

TEST_F(DriverTest, EndsWhereItIsAskedTo) {
  EXPECT_EQ(Run({"init", "--exit-on-failure"}), 1);
  EXPECT_THAT(Reason(), HasSubstr("no package of modules"));
  EXPECT_THAT(Reason(), testing::EndsWith(")\n"));
}

TEST_F(DriverTest, OnlyOneContainerRuns) {
  Start();
  for (int i = 0; i < 2000 && Reason().empty(); ++i) {  // the first has said its own
    usleep(10'000);
  }
  EXPECT_EQ(Run({"init", "--exit-on-failure"}), 1);
  EXPECT_EQ(Reason(), "another driver container runs on this node (process " +
                          std::to_string(child_) + ")\n");
}

TEST_F(DriverTest, PeermemIsMissedOnlyBesideInfiniBand) {
  EXPECT_EQ(Run({"probe_nvidia_peermem"}), 0);
  fs::create_directories(root_ + "/sys/module/mlx5_core");
  EXPECT_EQ(Run({"probe_nvidia_peermem"}), 1);
  fs::create_directories(root_ + "/sys/module/nvidia_peermem");
  EXPECT_EQ(Run({"probe_nvidia_peermem"}), 0);
}

}  // namespace
}  // namespace gantry::driver
