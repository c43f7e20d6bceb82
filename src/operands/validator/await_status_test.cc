// SPDX-License-Identifier: Apache-2.0

#include "operands/validator/await_status.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"
#include "operands/validator/testing/no_inotify.h"

namespace gantry::validator {
namespace {

namespace fs = std::filesystem;

class AwaitStatusTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text = "A=b\n") const {
    std::ofstream(fs::path(directory_) / name) << text;
  }
  [[nodiscard]] bool There(const Awaited& awaited) const {
    const auto files = host::StatusFiles::Open(directory_);
    return files.has_value() && IsThere(awaited, *files);
  }
  // The command as a process, after `prepare`.
  [[nodiscard]] pid_t Start(std::string flag = "--any", void (*prepare)() = [] {}) const {
    const pid_t child = fork();
    if (child == 0) {
      prepare();
      std::string words[] = {"await-status", "--directory", directory_, "driver-ready"};
      char* argv[] = {words[0].data(), words[1].data(), words[2].data(),
                      words[3].data(), flag.data(),     nullptr};
      _exit(RunAwaitStatus(5, argv));
    }
    return child;
  }
  void EndsWithTheFile(pid_t child) const {
    usleep(100000);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, WNOHANG), 0) << "it waits";
    Write("driver-ready");
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }

  const TempFolder temporary_;
  const std::string directory_ = temporary_.path();
};

TEST_F(AwaitStatusTest, AllOrOne) {
  const Awaited all{.files = {"driver-ready", "toolkit-ready"}};
  const Awaited any{.files = all.files, .any = true};
  EXPECT_FALSE(There(all));
  EXPECT_FALSE(There(any));
  Write("driver-ready");
  EXPECT_FALSE(There(all));
  EXPECT_TRUE(There(any));
  Write("toolkit-ready");
  EXPECT_TRUE(There(all));
}

TEST_F(AwaitStatusTest, AFileOfAnEarlierBootDoesNotCount) {
  Write("driver-ready", "GANTRY_BOOT_ID=another\n");
  EXPECT_FALSE(There({.files = {"driver-ready"}}));
}

TEST_F(AwaitStatusTest, NodesForAnotherWorkloadNeedNotWait) {
  const Awaited awaited{.files = {"vfio-pci-ready"}, .workload = "vm-passthrough"};
  EXPECT_FALSE(There(awaited)) << "what the node is for is not known yet";
  Write("workload-type", "vm-passthrough\n");
  EXPECT_FALSE(There(awaited));
  Write("vfio-pci-ready");
  EXPECT_TRUE(There(awaited));
  fs::remove(fs::path(directory_) / "vfio-pci-ready");
  Write("workload-type", "vm-vgpu\n");
  EXPECT_TRUE(There(awaited));
}

TEST_F(AwaitStatusTest, TheCommandEndsWithTheFile) { EndsWithTheFile(Start()); }

TEST_F(AwaitStatusTest, WithoutInotifyTheFolderIsLookedAt) {
  EndsWithTheFile(Start("--sleep-interval-seconds=1", RefuseInotify));
}

}  // namespace
}  // namespace gantry::validator
