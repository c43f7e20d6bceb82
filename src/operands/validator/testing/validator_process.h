// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "container/cdi.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "operands/validator/validator.h"
#include "policy/names.h"

namespace gantry::validator {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The validator as a process, with a host root of files; without calls into a driver.
class ValidatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      GTEST_SKIP() << "device nodes can be made by root only";
    }
    status_ = root_ / "status";
    MakeNode("host/dev/nvidiactl");
    MakeNode("host/dev/nvidia-uvm");
    MakeNode("host/dev/nvidia0");
    MakeFile("host/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.247.01", "a library");
    fs::create_symlink("libnvidia-ml.so.535.247.01",
                       root_ / "host/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1");
    MakeFile("host/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Thu\n");
  }
  void TearDown() override { Stop(); }

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
    fs::create_directories(root_ / "host/usr/local/nvidia/toolkit");
    fs::copy_file("/bin/true", root_ / "host/usr/local/nvidia/toolkit/nvidia-cdi-hook");
    MakeFile("host/var/run/cdi/management.nvidia.com-gpu.yaml", container::CdiText(spec));
  }

  int Run(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"nvidia-validator", "--host-root-mount", root_ / "host", "--output-dir", status_,
                  "--driver-validation-skip-gpu-init", "--dev-char-dir", root_ / "char"});
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
  // Waits until the status file exists (or not).
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

  const TempFolder temporary_;
  const fs::path root_ = temporary_.path();
  std::string status_;
  pid_t child_ = -1;
};

}  // namespace gantry::validator
