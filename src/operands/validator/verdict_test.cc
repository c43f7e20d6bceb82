// SPDX-License-Identifier: Apache-2.0
#include "operands/validator/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::validator {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using State = Finding::State;

Answer Said(int exit_code, const std::string& text) {
  return {.end = Answer::End::kSaid,
          .exit_code = exit_code,
          .values = host::ParseStatusFile(text),
          .text = text};
}

constexpr char kRoot[] = "/data/kubelet";

const Answer kHung = {.end = Answer::End::kTimeout, .exit_code = -1, .values = {}, .text = {}};
const Answer kCrashed = {
    .end = Answer::End::kDied, .exit_code = 11, .values = {}, .text = "Segmentation fault"};

host::DriverVerdict HostDriver() {
  host::DriverVerdict verdict;
  verdict.kind = host::DriverKind::kHost;
  verdict.reason = "HostDriver";
  verdict.version = "535.247.01";
  verdict.driver_root = "/";
  verdict.driver_root_here = "/host";
  verdict.dev_root = "/";
  verdict.dev_root_here = "/host";
  return verdict;
}

TEST(DriverStage, ReadyWithTheLinesOfTheStatusFile) {
  const Finding finding = JudgeDriverStage(HostDriver(), Said(0, "version=535.247.01\ngpus=2\n"));
  EXPECT_EQ(finding.state, State::kReady);
  EXPECT_THAT(finding.values,
              IsSupersetOf({Pair("IS_HOST_DRIVER", "true"), Pair("NVIDIA_DRIVER_ROOT", "/"),
                            Pair("DRIVER_ROOT_CTR_PATH", "/host"), Pair("NVIDIA_DEV_ROOT", "/"),
                            Pair("DEV_ROOT_CTR_PATH", "/host"),
                            Pair("GANTRY_DRIVER_VERSION", "535.247.01")}));
}

TEST(DriverStage, NotAskedIsTrusted) {
  EXPECT_EQ(JudgeDriverStage(HostDriver(), std::nullopt).state, State::kReady);
}

TEST(DriverStage, EachNoHasItsReason) {
  host::DriverVerdict none;
  none.reason = "DriverMissing";
  none.message = "2 GPUs and no driver";
  EXPECT_EQ(JudgeDriverStage(none, std::nullopt).reason, "DriverMissing");
  EXPECT_EQ(JudgeDriverStage(HostDriver(), kHung).reason, "DriverHangs");
  EXPECT_EQ(JudgeDriverStage(HostDriver(), kCrashed).reason, "DriverFails");
  EXPECT_EQ(JudgeDriverStage(HostDriver(), Said(0, "gpus=0\n")).reason, "NoGpuAnswers");
  const Finding fails = JudgeDriverStage(HostDriver(), Said(1, "error=nvmlInit: GPU_IS_LOST\n"));
  EXPECT_EQ(fails.state, State::kNotReady);
  EXPECT_THAT(fails.message, HasSubstr("GPU_IS_LOST"));
  EXPECT_FALSE(fails.remedy.empty());
}

ToolkitObservation Installed() {
  ToolkitObservation seen;
  seen.hook = "/usr/local/nvidia/toolkit/nvidia-cdi-hook";
  seen.hook_is_program = true;
  seen.version = Said(0, "nvidia-cdi-hook 0.1.0\n");
  seen.management = CdiDocument{.path = "/var/run/cdi/m.yaml", .error = "", .missing = {}};
  return seen;
}

TEST(ToolkitStage, EachNoHasItsReason) {
  EXPECT_EQ(JudgeToolkit(Installed()).state, State::kReady);
  ToolkitObservation seen = Installed();
  seen.hook_is_program = false;
  EXPECT_EQ(JudgeToolkit(seen).reason, "ToolkitNotInstalled");
  seen = Installed();
  seen.version = Said(127, "not found");
  EXPECT_EQ(JudgeToolkit(seen).reason, "ToolkitBroken");
  seen = Installed();
  seen.management.reset();
  EXPECT_EQ(JudgeToolkit(seen).reason, "CdiMissing");
  seen.cdi_wanted = false;
  EXPECT_EQ(JudgeToolkit(seen).state, State::kReady);
  seen = Installed();
  seen.management->error = "devices: not a list";
  EXPECT_EQ(JudgeToolkit(seen).reason, "CdiInvalid");
  seen = Installed();
  seen.management->missing = {"/usr/lib64/libcuda.so.525.1"};
  EXPECT_EQ(JudgeToolkit(seen).reason, "CdiStale");
  EXPECT_THAT(JudgeToolkit(seen).message, HasSubstr("libcuda.so.525.1"));
}

// What only the toolkit can tell: the container runtime has not got the handlers.
TEST(ToolkitStage, WithoutItsRuntimeNotReady) {
  ToolkitObservation seen = Installed();
  seen.failure = "read /etc/containerd/config.toml: line 7: no key";
  Finding finding = JudgeToolkit(seen);
  EXPECT_EQ(finding.state, State::kNotReady);
  EXPECT_EQ(finding.reason, "RuntimeNotConfigured");
  EXPECT_THAT(finding.message, HasSubstr("line 7"));
  seen.needs_restart = true;
  finding = JudgeToolkit(seen);
  EXPECT_EQ(finding.state, State::kNotReady);
  EXPECT_EQ(finding.reason, "RuntimeNeedsRestart");
  EXPECT_THAT(finding.remedy, HasSubstr("restart the container runtime"));
  seen.serves = true;
  finding = JudgeToolkit(seen);
  EXPECT_EQ(finding.state, State::kReady) << "pods get their GPUs as before";
  EXPECT_THAT(finding.message, HasSubstr("line 7"));
  EXPECT_FALSE(finding.remedy.empty());
  seen.hook_is_program = false;
  EXPECT_EQ(JudgeToolkit(seen).reason, "ToolkitNotInstalled");
}

TEST(CudaStage, WhatCuInitSays) {
  EXPECT_EQ(JudgeCuda(Said(0, "devices=8\n"), "535").state, State::kReady);
  EXPECT_EQ(JudgeCuda(Said(1, "code=100\nerror=cuInit answers 100\n"), "535").state,
            State::kSkipped);
  EXPECT_EQ(JudgeCuda(Said(1, "code=0\nerror=cuInit answers 0, 0 device(s)\n"), "535").state,
            State::kSkipped);
  EXPECT_EQ(JudgeCuda(Said(1, "code=802\n"), "535").reason, "FabricManagerNotReady");
  EXPECT_EQ(JudgeCuda(Said(1, "code=803\n"), "535").reason, "CudaVersionMismatch");
  EXPECT_EQ(JudgeCuda(kHung, "535").reason, "CudaHangs");
  EXPECT_EQ(JudgeCuda(kCrashed, "535").reason, "CudaFails");
  for (const char* code : {"999", "3", "46"}) {
    const std::string said = format("code={0}\nerror=cuInit answers {0}\n", code);
    EXPECT_EQ(JudgeCuda(Said(1, said), "535").reason, "CudaFails") << code;
    EXPECT_THAT(JudgeCuda(Said(1, said), "535").message, HasSubstr(code));
  }
  EXPECT_EQ(JudgeCuda(Said(1, "error=there is no /usr/lib/libcuda.so.1\n"), "535").state,
            State::kNotReady);
  EXPECT_EQ(JudgeCuda(Said(1, "unasked=true\nerror=it has no cuInit\n"), "535").state,
            State::kSkipped);
}

TEST(PluginStage, WhatTheKubeletLists) {
  EXPECT_EQ(JudgePlugin(Said(0, "nvidia.com/gpu=8\ncpu=2\n"), kRoot).state, State::kReady);
  EXPECT_EQ(JudgePlugin(Said(0, "nvidia.com/mig-1g.5gb=7\n"), kRoot).state, State::kReady);
  EXPECT_EQ(JudgePlugin(Said(0, "example.com/fpga=1\n"), kRoot).reason, "NoGpuAllocatable");
  EXPECT_EQ(JudgePlugin(Said(1, "error=connect: refused\n"), kRoot).state, State::kUnknown);
  EXPECT_EQ(JudgePlugin(kHung, kRoot).state, State::kUnknown);
  // Op1358: a path of the host, and the field that says so.
  EXPECT_THAT(JudgePlugin(kHung, kRoot).message,
              HasSubstr("at /data/kubelet/pod-resources/kubelet.sock"));
  EXPECT_THAT(JudgePlugin(kHung, kRoot).remedy, HasSubstr("hostPaths.kubeletRootDir"));
  const Finding useless =
      JudgePlugin(Said(0, "nvidia.com/gpu=8\n"), kRoot, {"/usr/bin/nvidia-ctk"});
  EXPECT_EQ(useless.reason, "CdiHookMissing");
  EXPECT_NE(useless.message.find("/usr/bin/nvidia-ctk"), std::string::npos);
}

class DecideTest : public ::testing::Test {
 protected:
  Step Now(const Finding& finding, seconds hold = seconds(0)) {
    return Decide(memory_, finding, hold, now_);
  }
  const Finding ready_ = {State::kReady, "Ready", "all well", "", {}};
  const Finding not_ready_ = {State::kNotReady, "Gone", "it is gone", "bring it back", {}};
  const Finding unknown_ = {State::kUnknown, "Blind", "cannot look", "", {}};
  const Finding skipped_ = {State::kSkipped, "None", "there is none", "", {}};
  StageMemory memory_;
  SteadyTime now_{};
};

TEST_F(DecideTest, WritesOnceAndTellsOnce) {
  const Step first = Now(ready_);
  EXPECT_EQ(first.file, Step::File::kWrite);
  EXPECT_TRUE(first.tell);
  const Step second = Now(ready_);
  EXPECT_EQ(second.file, Step::File::kKeep);
  EXPECT_FALSE(second.tell);
}

TEST_F(DecideTest, OtherValuesAreWritten) {
  Now(ready_);
  Finding other = ready_;
  other.values = {{"NVIDIA_DRIVER_ROOT", "/run/nvidia/driver"}};
  EXPECT_EQ(Now(other).file, Step::File::kWrite);
}

TEST_F(DecideTest, AFileThatVanishedIsWrittenAgain) {
  Now(ready_);
  memory_.file_there = false;
  EXPECT_EQ(Now(ready_).file, Step::File::kWrite);
}

TEST_F(DecideTest, TakesBackWhatWasSeenToBeUntrue) {
  Now(ready_);
  const Step step = Now(not_ready_);
  EXPECT_EQ(step.file, Step::File::kRemove);
  EXPECT_TRUE(step.tell);
  EXPECT_EQ(Now(not_ready_).file, Step::File::kKeep);
  EXPECT_EQ(Now(ready_).file, Step::File::kWrite);
}

TEST_F(DecideTest, NotBeingAbleToLookChangesNothing) {
  Now(ready_);
  EXPECT_EQ(Now(unknown_).file, Step::File::kKeep);
  now_ += seconds(1000);
  EXPECT_EQ(Now(unknown_).file, Step::File::kKeep);
}

TEST_F(DecideTest, AFileFoundAtStartIsKeptUntilSeenUntrue) {
  memory_.file_there = true;
  EXPECT_EQ(Now(unknown_).file, Step::File::kKeep);
  EXPECT_EQ(Now(not_ready_).file, Step::File::kRemove);
}

TEST_F(DecideTest, HoldsBackForAMoment) {
  Now(ready_, seconds(15));
  const Step first = Now(not_ready_, seconds(15));
  EXPECT_EQ(first.file, Step::File::kKeep);
  EXPECT_EQ(first.look_again, now_ + seconds(15));
  now_ += seconds(14);
  EXPECT_EQ(Now(not_ready_, seconds(15)).file, Step::File::kKeep);
  now_ += seconds(1);
  EXPECT_EQ(Now(not_ready_, seconds(15)).file, Step::File::kRemove);
}

TEST_F(DecideTest, BeingReadyAgainForgetsTheMoment) {
  Now(ready_, seconds(15));
  Now(not_ready_, seconds(15));
  now_ += seconds(10);
  Now(ready_, seconds(15));
  now_ += seconds(10);
  EXPECT_EQ(Now(not_ready_, seconds(15)).file, Step::File::kKeep);
}

TEST_F(DecideTest, SkippedTakesAFileBackToo) {
  memory_.file_there = true;
  EXPECT_EQ(Now(skipped_).file, Step::File::kRemove);
}

}  // namespace
}  // namespace gantry::validator
