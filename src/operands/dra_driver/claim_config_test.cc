// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/claim_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::dra_driver {
namespace {

using testing::HasSubstr;

Json Parameters(const char* kind, const char* sharing) {
  Json parameters = {{"apiVersion", "resource.nvidia.com/v1beta1"}, {"kind", kind}};
  parameters["sharing"] = *ParseJson(sharing);
  return parameters;
}

TEST(DraClaimConfig, WhatIsAccepted) {
  struct Case {
    const char* kind;
    const char* sharing;
    ClaimConfig config;
  };
  const Case cases[] = {
      {"GpuConfig", "null", {DeviceType::kGpu, Sharing::kNone}},
      {"MigDeviceConfig", "null", {DeviceType::kMig, Sharing::kNone}},
      {"GpuConfig", R"({"strategy":"TimeSlicing"})", {DeviceType::kGpu, Sharing::kTimeSlicing}},
      // NVIDIA's driver ends at this one.
      {"GpuConfig",
       R"({"strategy":"TimeSlicing","timeSlicingConfig":{}})",
       {DeviceType::kGpu, Sharing::kTimeSlicing}},
      {"GpuConfig",
       R"({"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"},"mpsConfig":null})",
       {DeviceType::kGpu, Sharing::kTimeSlicing}},
      {"MigDeviceConfig",
       R"({"strategy":"TimeSlicing"})",
       {DeviceType::kMig, Sharing::kTimeSlicing}},
      {"GpuConfig",
       R"({"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":50,
           "defaultPinnedDeviceMemoryLimit":"1.5Gi","multiUser":true,
           "defaultPerDevicePinnedMemoryLimit":{"0":"4Gi","GPU-1":1048576}}})",
       {DeviceType::kGpu, Sharing::kMps}},
  };
  for (const Case& one : cases) {
    const auto config = DecodeConfig(Parameters(one.kind, one.sharing));
    ASSERT_TRUE(config.has_value()) << one.sharing << ": " << config.error().message;
    EXPECT_EQ(*config, one.config) << one.sharing;
  }
}

TEST(DraClaimConfig, WhatIsRefusedIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "sharing: not an object"},
      {"{}", "sharing.strategy: must be"},
      {R"({"strategy":3})", "sharing.strategy: not a string"},
      {R"({"strategy":"MPS","x":1})", "unknown field \"sharing.x\""},
      {R"({"strategy":"TimeSlicing","timeSlicingConfig":[]})", "timeSlicingConfig: not an object"},
      {R"({"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"long"}})",
       "interval: must be"},
      {R"({"strategy":"TimeSlicing","timeSlicingConfig":{"i":"Long"}})", "timeSlicingConfig.i\""},
      {R"({"strategy":"TimeSlicing","mpsConfig":{}})", "mpsConfig: is for"},
      {R"({"strategy":"MPS","timeSlicingConfig":{}})", "timeSlicingConfig: is for"},
      {R"({"strategy":"MPS","mpsConfig":7})", "mpsConfig: not an object"},
      {R"({"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":101}})", "from 0 to 100"},
      {R"({"strategy":"MPS","mpsConfig":{"defaultActiveThreadPercentage":"5"}})", "from 0 to 100"},
      {R"({"strategy":"MPS","mpsConfig":{"defaultPinnedDeviceMemoryLimit":"x"}})",
       "not a quantity"},
      {R"({"strategy":"MPS","mpsConfig":{"defaultPinnedDeviceMemoryLimit":"1XB"}})",
       "not a quantity"},
      {R"({"strategy":"MPS","mpsConfig":{"defaultPinnedDeviceMemoryLimit":"0Gi"}})",
       "must be more than 0"},
      {R"({"strategy":"MPS","mpsConfig":{"defaultPerDevicePinnedMemoryLimit":"1Gi"}})",
       "defaultPerDevicePinnedMemoryLimit: not an object"},
      {R"({"strategy":"MPS","mpsConfig":{"defaultPerDevicePinnedMemoryLimit":{"0":true}}})",
       "defaultPerDevicePinnedMemoryLimit.0: not a quantity"},
      {R"({"strategy":"MPS","mpsConfig":{"multiUser":"yes"}})", "multiUser: not true or false"},
  };
  for (const auto& [sharing, message] : cases) {
    const auto config = DecodeConfig(Parameters("GpuConfig", sharing));
    ASSERT_FALSE(config.has_value()) << sharing;
    EXPECT_EQ(config.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(config.error().message, HasSubstr(message)) << sharing;
    EXPECT_THAT(config.error().message, HasSubstr("strict decoding error"));
  }
}

TEST(DraClaimConfig, OtherKindsAndFieldsAreRefused) {
  EXPECT_EQ(DecodeConfig(Parameters("VfioDeviceConfig", "null")).error().kind,
            ErrorKind::kUnsupported);
  Json other = Parameters("GpuConfig", "null");
  other["apiVersion"] = "v1";
  EXPECT_EQ(DecodeConfig(other).error().kind, ErrorKind::kUnsupported);
  Json more = Parameters("GpuConfig", "null");
  more["unexpectedField"] = 1;
  EXPECT_EQ(DecodeConfig(more).error().message,
            "strict decoding error: unknown field \"unexpectedField\"");
  for (const char* text : {"null", "[]", "3", "\"x\"", "{}", R"({"kind":1})"}) {
    EXPECT_FALSE(DecodeConfig(*ParseJson(text)).has_value()) << text;
  }
  EXPECT_THAT(
      DecodeConfig(Parameters("MigDeviceConfig", R"({"timeSlicingConfig":{}})")).error().message,
      HasSubstr("unknown field \"sharing.timeSlicingConfig\""));
}

TEST(DraClaimConfig, SharingNeedsItsGate) {
  EXPECT_TRUE(CheckGates({DeviceType::kGpu, Sharing::kNone}));
  EXPECT_TRUE(CheckGates({DeviceType::kMig, Sharing::kTimeSlicing}));
  EXPECT_THAT(CheckGates({DeviceType::kGpu, Sharing::kTimeSlicing}).error().message,
              HasSubstr("\"TimeSlicingSettings\" feature gate is not enabled"));
  EXPECT_THAT(CheckGates({DeviceType::kMig, Sharing::kMps}).error().message,
              HasSubstr("\"MPSSupport\" feature gate is not enabled"));
}

}  // namespace
}  // namespace gantry::dra_driver
