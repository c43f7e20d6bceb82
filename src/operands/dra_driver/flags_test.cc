// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::dra_driver {
namespace {

using testing::HasSubstr;

Result<std::optional<Flags>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), kProgram);
  return ParseFlags(static_cast<int>(words.size()), words.data());
}

TEST(DraFlags, DefaultsAreNvidias) {
  const auto flags = Parse({"--node-name=n"});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_EQ((*flags)->cdi_root, "/etc/cdi");
  EXPECT_EQ((*flags)->plugins, "/var/lib/kubelet/plugins");
  EXPECT_EQ((*flags)->container_driver_root, "/driver-root");
  EXPECT_FALSE(Parse({}).has_value());
}

TEST(DraFlags, WhatIsNotServedIsRefusedByName) {
  for (const char* flag : {"--consumable-shares=4", "--healthcheck-port=51516",
                           "--http-endpoint=:8080", "--feature-gates=DynamicMIG=true"}) {
    const auto flags = Parse({"--node-name=n", flag});
    ASSERT_FALSE(flags.has_value()) << flag;
    EXPECT_EQ(flags.error().kind, ErrorKind::kUnsupported) << flag;
  }
  EXPECT_TRUE(Parse({"--node-name=n", "--image-name=i", "-v=6", "--healthcheck-port=-1"}));
}

TEST(DraFlags, FeatureGates) {
  EXPECT_TRUE(CheckFeatureGates(""));
  EXPECT_TRUE(CheckFeatureGates("ComputeDomainCliques=true, DynamicMIG=false"));
  EXPECT_THAT(CheckFeatureGates("X=true").error().message, HasSubstr("unknown gate X"));
  EXPECT_THAT(CheckFeatureGates("DynamicMIG").error().message, HasSubstr("true or false"));
  EXPECT_THAT(CheckFeatureGates("DynamicMIG=maybe").error().message, HasSubstr("true or false"));
  EXPECT_THAT(CheckFeatureGates("MPSSupport=true").error().message,
              HasSubstr("MPSSupport is not supported; remove it or set MPSSupport=false"));
}

}  // namespace
}  // namespace gantry::dra_driver
