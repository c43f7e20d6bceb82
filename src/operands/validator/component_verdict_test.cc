// SPDX-License-Identifier: Apache-2.0
#include "operands/validator/component_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::validator {
namespace {

using ::testing::HasSubstr;
using State = Finding::State;

TEST(Components, AKernelModule) {
  EXPECT_EQ(JudgeModule("gdrdrv", true, true).state, State::kReady);
  EXPECT_EQ(JudgeModule("gdrdrv", true, false).reason, "ModuleNotLoaded");
  EXPECT_EQ(JudgeModule("gdrdrv", false, false).state, State::kNotNeeded);
}

TEST(Components, Mofed) {
  MofedObservation seen;
  EXPECT_EQ(JudgeMofed(seen).state, State::kNotNeeded);
  seen.asked = true;
  EXPECT_EQ(JudgeMofed(seen).state, State::kNotNeeded) << "no such device";
  seen.mellanox = true;
  EXPECT_EQ(JudgeMofed(seen).reason, "MofedNotReady");
  seen.driver_ready = true;
  EXPECT_EQ(JudgeMofed(seen).state, State::kReady);
  seen.host_mofed = true;
  EXPECT_EQ(JudgeMofed(seen).reason, "ModuleNotLoaded");
  seen.module = true;
  EXPECT_EQ(JudgeMofed(seen).state, State::kReady);
}

TEST(Components, TheWorkloadOfANode) {
  EXPECT_EQ(WorkloadOf({}, ""), "vm-passthrough");
  EXPECT_EQ(WorkloadOf({}, "container"), "container");
  EXPECT_EQ(WorkloadOf({{"nvidia.com/gpu.workload.config", "vm-vgpu"}}, "container"), "vm-vgpu");
  EXPECT_EQ(WorkloadOf({{"nvidia.com/gpu.workload.config", "vm"}}, "container"), "container");
  EXPECT_EQ(WorkloadOf({}, "vm"), "vm-passthrough");
}

host::PciFunction Gpu(const std::string& driver) {
  host::PciFunction gpu;
  gpu.address = "0000:3b:00.0";
  gpu.vendor = host::kNvidiaVendor;
  gpu.class_code = 0x030200;
  gpu.driver = driver;
  return gpu;
}

TEST(Components, VfioHoldsEveryGpu) {
  host::PciFunction audio = Gpu("snd_hda_intel");
  audio.class_code = 0x040300;
  EXPECT_EQ(JudgeVfio("vm-passthrough", {Gpu("vfio-pci"), audio}).state, State::kReady);
  EXPECT_EQ(JudgeVfio("vm-passthrough", {Gpu("nvgrace_gpu_vfio_pci")}).state, State::kReady);
  const Finding no = JudgeVfio("vm-passthrough", {Gpu("vfio-pci"), Gpu("nvidia")});
  EXPECT_EQ(no.reason, "GpuNotBoundToVfio");
  EXPECT_THAT(no.message, HasSubstr("bound to nvidia"));
  EXPECT_EQ(JudgeVfio("vm-vgpu", {Gpu("nvidia")}).state, State::kNotNeeded);
}

TEST(Components, VfioNeedsTheGroupAndSaysWhatTheManagerSays) {
  host::PciFunction gpu = Gpu("vfio-pci");
  gpu.iommu_group = 57;
  host::PciFunction audio = Gpu("snd_hda_intel");
  audio.class_code = 0x040300;
  audio.iommu_group = 57;
  EXPECT_THAT(JudgeVfio("vm-passthrough", {gpu, audio}).message,
              HasSubstr("of its IOMMU group is bound to snd_hda_intel"));
  audio.driver = "";
  EXPECT_EQ(JudgeVfio("vm-passthrough", {gpu, audio}).state, State::kReady);
  EXPECT_THAT(JudgeVfio("vm-passthrough", {Gpu("nvidia")}, "it is in use by process 7").message,
              HasSubstr("is bound to nvidia: it is in use by process 7"));
}

TEST(Components, VgpuManagerDividesByVirtualFunctionsOrMediatedDevices) {
  const Answer works = {.end = Answer::End::kSaid, .exit_code = 0, .values = {}, .text = ""};
  const VgpuParent divided = {
      .address = "a", .virtual_functions = 16, .enabled = 16, .mdev_parent = false};
  VgpuParent half = divided;
  half.enabled = 4;
  const VgpuParent mediated = {
      .address = "b", .virtual_functions = 0, .enabled = 0, .mdev_parent = true};
  const VgpuParent neither = {
      .address = "c", .virtual_functions = 0, .enabled = 0, .mdev_parent = false};
  EXPECT_EQ(JudgeVgpuManager("container", {}, {}).state, State::kNotNeeded);
  EXPECT_EQ(JudgeVgpuManager("vm-vgpu", {}, {divided}).reason, "VgpuManagerFails");
  EXPECT_EQ(JudgeVgpuManager("vm-vgpu", works, {divided, mediated}).state, State::kReady);
  EXPECT_EQ(JudgeVgpuManager("vm-vgpu", works, {half}).reason, "VirtualFunctionsMissing");
  EXPECT_EQ(JudgeVgpuManager("vm-vgpu", works, {neither}).reason, "NotDivisible");
  // A Turing card has virtual functions that stay off.
  const VgpuParent turing = {
      .address = "d", .virtual_functions = 16, .enabled = 0, .mdev_parent = true};
  VgpuParent undivided = turing;
  undivided.mdev_parent = false;
  EXPECT_EQ(JudgeVgpuManager("vm-vgpu", works, {turing, divided}).state, State::kReady);
  EXPECT_EQ(JudgeVgpuManager("vm-vgpu", works, {turing, neither, undivided}).state, State::kReady);
  EXPECT_EQ(JudgeVgpuManager("vm-vgpu", works, {undivided}).reason, "VirtualFunctionsMissing");
  EXPECT_EQ(JudgeVgpuManager("vm-vgpu", works, {divided, undivided}).reason,
            "VirtualFunctionsMissing");
}

TEST(Components, VgpuDevicesAndConfidentialComputing) {
  EXPECT_EQ(JudgeVgpuDevices("vm-passthrough", 0).state, State::kNotNeeded);
  EXPECT_EQ(JudgeVgpuDevices("vm-vgpu", 0).reason, "NoVgpuDevices");
  EXPECT_EQ(JudgeVgpuDevices("vm-vgpu", 2).state, State::kReady);
  EXPECT_EQ(JudgeCcManager(false, false).state, State::kReady) << "with its file, as upstream";
  EXPECT_EQ(JudgeCcManager(true, false).reason, "CcManagerNotReady");
  EXPECT_EQ(JudgeCcManager(true, true).state, State::kReady);
}

}  // namespace
}  // namespace gantry::validator
