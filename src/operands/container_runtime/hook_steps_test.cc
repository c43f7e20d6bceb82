// SPDX-License-Identifier: Apache-2.0
// What becomes of a start when a step's target is read-only, not there, a file in place of a folder
// or in use: for every step of the table.
#include "operands/container_runtime/hook_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"
#include "operands/container_runtime/hooks.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;

enum class State { kReadOnly, kMissing, kFileForFolder, kBusy };

struct StepCase {
  HookStep step;
  std::vector<std::string> words;  // of the hook
  std::string target;              // what the step writes
  std::string beside;              // a file that has to be there
  std::vector<State> fails;        // where the target can't be made; elsewhere nothing is amiss
};

std::vector<StepCase> Cases() {
  using enum State;
  const std::vector<State> every = {kReadOnly, kFileForFolder, kBusy};
  return {
      {HookStep::kDriverLinks,
       {"create-container", "--library", "libcuda.so.1=/opt/d/libcuda.so.535.1"},
       "/opt/d/libcuda.so.1",
       "",
       every},
      {HookStep::kDriverLinks,
       {"create-symlinks", "--link", "libcuda.so.535.1::/opt/d/libcuda.so.1"},
       "/opt/d/libcuda.so.1",
       "",
       every},
      {HookStep::kGraphicsLinks,
       {"create-symlinks", "--link", "../libnvidia-allocator.so.1::/opt/gbm/nvidia-drm_gbm.so"},
       "/opt/gbm/nvidia-drm_gbm.so",
       "",
       every},
      {HookStep::kGraphicsLinks,
       {"create-container", "--library", "libGLX_nvidia.so.0=/opt/d/libGLX_nvidia.so.535.1"},
       "/opt/d/libGLX_nvidia.so.0",
       "",
       every},
      {HookStep::kDeviceLinks,
       {"create-container", "--device-link", "../card1::/dev/dri/by-path/pci-1-card"},
       "/dev/dri/by-path/pci-1-card",
       "/dev/dri/card1",
       every},
      {HookStep::kCudaLinks,
       {"create-container", "--link-if-absent", "/opt/cuda::/opt/local/cuda"},
       "/opt/local/cuda",
       "",
       {kReadOnly, kFileForFolder}},
      {HookStep::kModes,
       {"chmod", "--mode=711", "--path=/opt/m/file"},
       "/opt/m/file",
       "",
       {kReadOnly}},
      {HookStep::kFolderLinks,
       {"update-ldcache", "--folder", "/opt/f"},
       "/opt/f/libx.so.1",
       "/opt/f/libx.so.1.2",
       {kReadOnly}},
      {HookStep::kLinkerFolders,
       {"create-container", "--library", "libx.so.1=/opt/x/libx.so.1"},
       "/etc/ld.so.conf.d/00-nvidia-driver.conf",
       "",
       every},
      {HookStep::kMuslFolders,
       {"create-container", "--library", "libx.so.1=/opt/x/libx.so.1"},
       "/etc/ld-musl-x86_64.path",
       "/etc/alpine-release",
       {kReadOnly, kBusy}},
      {HookStep::kLinkerCache,
       {"create-container", "--library", "libx.so.1=/opt/x/libx.so.1"},
       "/etc/ld.so.cache",
       "",
       every},
      {HookStep::kProfile,
       {"update-application-profile"},
       "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf",
       "/dev/nvidia0",
       every},
  };
}

class HookStepsTest : public testing::Test {
 protected:
  void Put(const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    if (path.starts_with("/opt/f/")) {
      ASSERT_EQ(std::system(("echo 'void f(void){}' | gcc -shared -nostdlib -xc - -o " + root_ +
                             path + " -Wl,-soname,libx.so.1")
                                .c_str()),
                0);
    } else {
      std::ofstream(root_ + path) << "x";
    }
  }

  // Ends the process as the hook would. What is mounted ends with it.
  [[noreturn]] void Run(const StepCase& each, State state) {
    const std::string target = root_ + each.target;
    const std::string folder = ParentOf(target);
    bool ready =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    const auto bind = [&](const std::string& path, unsigned long flags) {
      ready = ready && ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
              (flags == 0 ||
               ::mount(nullptr, path.c_str(), nullptr, MS_BIND | MS_REMOUNT | flags, nullptr) == 0);
    };
    if (state == State::kReadOnly) {
      bind(folder, MS_RDONLY);
    } else if (state == State::kBusy) {
      std::ofstream(target) << "x";
      bind(target, 0);
    }
    std::vector<std::string> warnings;
    const Status done =
        ready ? RunHook(*ParseHookArguments(each.words), *ContainerRoot::Open(root_), warnings)
              : FailErrno("mount", errno);
    const std::string said = done ? Join(warnings, "\n") : "error: " + done.error().message;
    std::fprintf(stderr, "[%s]", said.c_str());
    ::_exit(done ? 0 : 1);
  }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
};

TEST_F(HookStepsTest, EveryStepWithEveryTarget) {
  for (const StepCase& each : Cases()) {
    const auto rule = std::ranges::find(kHookSteps, each.step, &HookStepRule::step);
    ASSERT_NE(rule, kHookSteps.end());
    for (const State state :
         {State::kReadOnly, State::kMissing, State::kFileForFolder, State::kBusy}) {
      fs::remove_all(root_);
      fs::create_directory(root_);
      const std::string folder = ParentOf(each.target);
      if (!each.beside.empty()) {
        Put(each.beside);
      }
      if (state == State::kFileForFolder && !fs::exists(root_ + folder)) {
        Put(folder);
      } else if (state == State::kReadOnly || state == State::kBusy) {
        fs::create_directories(root_ + folder);
        if (each.step == HookStep::kModes) {
          Put(each.target);
        }
      }
      const bool fails = std::ranges::find(each.fails, state) != each.fails.end();
      const std::string said = !fails            ? "^\\[\\]$"
                               : rule->necessary ? "^\\[error: .*" + BaseName(folder)
                                                 : std::string(rule->without);
      EXPECT_EXIT(Run(each, state), testing::ExitedWithCode(fails && rule->necessary ? 1 : 0), said)
          << rule->without << " " << static_cast<int>(state);
    }
  }
}

// nct#2026 and its like: the cache is written although the list of folders can't be.
TEST_F(HookStepsTest, AStepThatFailsDoesNotKeepTheNextFromItsWork) {
  Put("/etc/ld.so.conf.d");
  std::vector<std::string> warnings;
  const auto request = ParseHookArguments(
      {"create-container", "--library", "libcuda.so.1=/opt/d/libcuda.so.535.1", "--link",
       "x::/etc/ld.so.conf.d/libGLX_indirect.so.0", "--link", "x::/opt/d/libGLX_indirect.so.0"});
  EXPECT_TRUE(RunHook(*request, *ContainerRoot::Open(root_), warnings).has_value());
  EXPECT_THAT(warnings,
              testing::ElementsAre(testing::HasSubstr("the container starts without links"),
                                   testing::HasSubstr("the container starts without a list")));
  EXPECT_TRUE(fs::exists(root_ + "/etc/ld.so.cache"));
  EXPECT_EQ(fs::read_symlink(root_ + "/opt/d/libGLX_indirect.so.0"), "x");
  EXPECT_EQ(fs::read_symlink(root_ + "/opt/d/libcuda.so.1"), "libcuda.so.535.1");
}

TEST(HookSteps, OnlyTheNamesOfTheDriversLibrariesAreNecessary) {
  std::vector<std::string> warnings;
  for (const HookStepRule& rule : kHookSteps) {
    const bool driver = rule.step == HookStep::kDriverLinks;
    EXPECT_EQ(rule.necessary, driver) << rule.without;
    warnings.clear();
    EXPECT_EQ(Settle(rule.step, Fail(ErrorKind::kDenied, "no"), warnings).has_value(), !driver);
    EXPECT_EQ(warnings.size(), driver ? 0U : 1U);
    EXPECT_TRUE(Settle(rule.step, {}, warnings).has_value());
  }
}

TEST(HookSteps, LinksOfWhatDrawsAreForGraphics) {
  for (const char* path :
       {"/usr/lib/libcuda.so", "/usr/lib/libcuda.so.1", "/usr/lib/libnvidia-ml.so.1",
        "/usr/lib/libnvcuvid.so.1", "/usr/lib/libof-tomorrow.so.1", "/usr/lib/tegra/libx.so"}) {
    EXPECT_EQ(StepOf({"x", path}), HookStep::kDriverLinks) << path;
  }
  for (const char* path : {"/usr/lib/libGLX_indirect.so.0", "/usr/lib/gbm/nvidia-drm_gbm.so",
                           "/usr/lib/xorg/modules/extensions/libglxserver_nvidia.so",
                           "/usr/lib/libnvidia-vulkan-producer.so"}) {
    EXPECT_EQ(StepOf({"x", path}), HookStep::kGraphicsLinks) << path;
  }
}

}  // namespace
}  // namespace gantry::container_runtime
