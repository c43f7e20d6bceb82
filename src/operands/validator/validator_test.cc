// SPDX-License-Identifier: Apache-2.0
// The validator as a process, over a host root of files; the driver itself is not asked.
#include "operands/validator/validator.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "container/cdi.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
namespace fs = std::filesystem;

class ValidatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      GTEST_SKIP() << "device nodes can be made by root only";
    }
    std::string name = fs::temp_directory_path() / "gantry-validator-XXXXXX";
    root_ = mkdtemp(name.data());
    status_ = root_ / "status";
    MakeNode("host/dev/nvidiactl");
    MakeNode("host/dev/nvidia0");
    MakeFile("host/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.247.01", "a library");
    fs::create_symlink("libnvidia-ml.so.535.247.01",
                       root_ / "host/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1");
    MakeFile("host/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Thu\n");
  }
  void TearDown() override {
    Stop();
    if (!root_.empty()) {
      fs::remove_all(root_);
    }
  }

  void MakeFile(const std::string& path, const std::string& text, mode_t mode = 0644) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    chmod((root_ / path).c_str(), mode);
  }
  void MakeNode(const std::string& path) const {
    fs::create_directories((root_ / path).parent_path());
    ASSERT_EQ(mknod((root_ / path).c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  }
  void InstallToolkit() const {
    container::CdiSpec spec;
    spec.kind = names::kManagementCdiKind;
    spec.devices.push_back({.name = "all", .edits = {}});
    spec.devices[0].edits.device_nodes.push_back({.path = "/dev/nvidia0", .host_path = ""});
    MakeFile("host/usr/local/nvidia/toolkit/nvidia-cdi-hook", "#!/bin/sh\necho 1.0\n", 0755);
    MakeFile("host/var/run/cdi/management.nvidia.com-gpu.yaml", container::CdiText(spec));
  }

  int Run(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"nvidia-validator", "--host-root-mount", root_ / "host", "--output-dir", status_,
                  "--driver-validation-skip-gpu-init", "true"});
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    return RunValidator(static_cast<int>(argv.size()), argv.data());
  }
  void Start(const std::vector<std::string>& words) {
    child_ = fork();
    if (child_ == 0) {
      _exit(Run(words));
    }
  }
  int Stop() {
    int status = -1;
    if (child_ > 0) {
      kill(child_, SIGTERM);
      waitpid(child_, &status, 0);
      child_ = -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Waits until the status file is there (or gone).
  [[nodiscard]] bool Becomes(const std::string& name, bool there,
                             milliseconds limit = milliseconds(3000)) const {
    host::Watcher watcher = *host::Watcher::Create();
    EXPECT_TRUE(watcher.Add(status_));
    const auto deadline = steady_clock::now() + limit;
    const host::StatusFiles files = *host::StatusFiles::Open(status_);
    while (files.Read(name).has_value() != there) {
      if (watcher.Next(-1, deadline).changed.empty()) {
        return false;
      }
    }
    return true;
  }

  fs::path root_;
  std::string status_;
  pid_t child_ = -1;
};

TEST_F(ValidatorTest, OneComponentAsAProcess) {
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  EXPECT_TRUE(Becomes("driver-ready", true));
  EXPECT_EQ(Run({"--component", "toolkit"}), 1);
  EXPECT_FALSE(fs::exists(fs::path(status_) / "toolkit-ready"));
  InstallToolkit();
  EXPECT_EQ(Run({"--component", "toolkit"}), 0);
  EXPECT_EQ(Run({"--component", "fortune"}), 1);
}

TEST_F(ValidatorTest, ToolkitReadyComesWithItsLastFile) {
  Start({"--with-plugin", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  InstallToolkit();
  const auto installed = steady_clock::now();
  ASSERT_TRUE(Becomes("toolkit-ready", true));
  const auto took =
      std::chrono::duration_cast<milliseconds>(steady_clock::now() - installed).count();
  RecordProperty("toolkit_ready_ms", static_cast<int>(took));
  EXPECT_LT(took, 200);
}

TEST_F(ValidatorTest, AProgramThatIsBusyIsTriedAgain) {
  Start({"--with-plugin", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  InstallToolkit();
  ASSERT_TRUE(Becomes("toolkit-ready", true));
  const std::string hook = root_ / "host/usr/local/nvidia/toolkit/nvidia-cdi-hook";
  fs::remove(hook);
  ASSERT_TRUE(Becomes("toolkit-ready", false));
  const int busy = open((hook + ".new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  ASSERT_EQ(write(busy, "#!/bin/sh\n", 10), 10);
  fs::rename(hook + ".new", hook);
  EXPECT_FALSE(Becomes("toolkit-ready", true, milliseconds(100)));
  close(busy);
  EXPECT_TRUE(Becomes("toolkit-ready", true));
}

TEST_F(ValidatorTest, WhatIsNoLongerTrueIsTakenBackAndComesAgain) {
  InstallToolkit();
  Start({"--with-plugin", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  ASSERT_TRUE(Becomes("toolkit-ready", true));
  fs::remove(root_ / "host/dev/nvidiactl");
  EXPECT_TRUE(Becomes("driver-ready", false));
  MakeNode("host/dev/nvidiactl");
  EXPECT_TRUE(Becomes("driver-ready", true));
  fs::remove(root_ / "host/usr/local/nvidia/toolkit/nvidia-cdi-hook");
  EXPECT_TRUE(Becomes("toolkit-ready", false));
  InstallToolkit();
  EXPECT_TRUE(Becomes("toolkit-ready", true));
}

TEST_F(ValidatorTest, AStatusFileThatSomebodyTookAwayComesBack) {
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  fs::rename(status_, root_ / "taken");
  EXPECT_TRUE(Becomes("driver-ready", true));
}

TEST_F(ValidatorTest, ATerminationTakesNothingBack) {
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  EXPECT_EQ(Stop(), 0);
  EXPECT_TRUE(fs::exists(fs::path(status_) / "driver-ready"));
}

}  // namespace
}  // namespace gantry::validator

// A validator starts its own program for its probes, "nvidia-validator --probe ...": in these tests
// that is this one.
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--probe") {
      return gantry::validator::RunValidator(argc - 1, argv + 1);
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
