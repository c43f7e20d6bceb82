// SPDX-License-Identifier: Apache-2.0
#include "operands/mig_manager/checkpoint.h"

#include <gtest/gtest.h>

namespace gantry::mig_manager {
namespace {

nvml::MigGpu Gpu() {
  nvml::MigGpu gpu;
  gpu.uuid = "GPU-1";
  gpu.capable = gpu.enabled = true;
  gpu.profiles = {{.number = 2, .id = 9, .name = "3g.40gb", .slices = 3, .size = 4}};
  gpu.instances = {{.id = 1, .profile_id = 9, .start = 4, .size = 4, .compute = {{0, 1}, {1, 2}}}};
  return gpu;
}

TEST(Checkpoint, IsUpstreamsFileAndIsReadBack) {
  nvml::MigGpu plain;
  plain.uuid = "GPU-2";
  const std::vector<nvml::MigGpu> gpus = {Gpu(), plain};
  const Json written = CheckpointOf(gpus);
  EXPECT_EQ(written, ParseJson(R"({"Version": "v1", "MigState": {"Devices": [
      {"UUID": "GPU-1", "MigMode": 1, "GpuInstances": [
        {"ProfileID": 2, "Placement": {"Start": 4, "Size": 4}, "ComputeInstances": [
          {"ProfileID": 0, "EngProfileID": 0}, {"ProfileID": 1, "EngProfileID": 0}]}]}]}})")
                         .value());
  const auto read = ParseCheckpoint(written.dump()).value();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read.at("GPU-1"), gpu::MigLayoutOf(Gpu()));
}

TEST(Checkpoint, KeysMayBeSpelledInLowerCaseAndListsBeNull) {
  const auto read = ParseCheckpoint(
      R"({"version": "v1", "migstate": {"devices": [
          {"uuid": "GPU-1", "migmode": 0, "gpuinstances": null}]}})");
  EXPECT_EQ(read.value().at("GPU-1"), gpu::MigLayout{});
}

TEST(Checkpoint, AMistakeIsNamed) {
  const auto refusal = [](const char* text) { return ParseCheckpoint(text).error().message; };
  EXPECT_EQ(refusal("{}"), "checkpoint: Version: must be v1");
  EXPECT_EQ(refusal(R"({"Version": "v1"})"), "checkpoint: MigState: not a map");
  EXPECT_EQ(refusal(R"({"Version": "v1", "MigState": {"Devices": [{"UUID": 1}]}})"),
            "checkpoint: MigState.Devices[0].UUID: not a string");
  EXPECT_EQ(refusal(R"({"Version": "v1", "MigState": {"Devices": [{"UUID": "a"}]}})"),
            "checkpoint: MigState.Devices[0].MigMode: not a number from 0 to 1023");
  EXPECT_EQ(refusal(R"({"Version": "v1", "MigState": {"Devices": [{"UUID": "a", "MigMode": 1,
                "GpuInstances": [{"ProfileID": 0}]}]}})"),
            "checkpoint: MigState.Devices[0].GpuInstances[0].Placement: missing");
  EXPECT_EQ(refusal(R"({"Version": "v1", "MigState": {"Devices": [{"UUID": "a", "MigMode": 1,
                "GpuInstances": [{"ProfileID": 0, "Placement": {"Start": 0},
                "ComputeInstances": [{"ProfileID": 9}]}]}]}})"),
            "checkpoint: MigState.Devices[0].GpuInstances[0].ComputeInstances[0].ProfileID: no "
            "such profile of compute instances");
}

}  // namespace
}  // namespace gantry::mig_manager
