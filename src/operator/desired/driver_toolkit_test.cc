// SPDX-License-Identifier: Apache-2.0

#include "operator/desired/driver_toolkit.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

const SystemFacts kRhcos{"rhcos", "rhcos4.13", {}, {"413.92"}};

ToolkitState Decide(const Json& spec, const OpenShift& openshift, const SystemFacts& system) {
  const auto policy = policy::Parse({{"spec", spec}});
  EXPECT_TRUE(policy.has_value());
  return DecideToolkit(*policy, openshift, system.rhcos, !system.tag.empty());
}

OpenShift With(std::map<std::string, std::string> images, bool broken = false) {
  OpenShift openshift;
  openshift.version = "4.13";
  openshift.toolkit = DriverToolkit{std::move(images), broken};
  return openshift;
}

TEST(DriverToolkit, IsUsedWhereItCanBe) {
  const ToolkitState state = Decide({}, With({{"413.92", "i"}}), kRhcos);
  EXPECT_EQ(state.enabled, 1);
  EXPECT_FALSE(state.nfd_too_old || state.image_stream_missing || state.image_stream_broken ||
               state.rhcos_tags_missing);
}

TEST(DriverToolkit, IsNotAskedFor) {
  const OpenShift with = With({{"413.92", "i"}});
  EXPECT_EQ(Decide({}, OpenShift(), kRhcos).enabled, 0);
  EXPECT_EQ(Decide({{"operator", {{"use_ocp_driver_toolkit", false}}}}, with, kRhcos).enabled, 0);
  EXPECT_EQ(Decide({{"driver", {{"usePrecompiled", true}}}}, with, kRhcos).enabled, 0);
}

TEST(DriverToolkit, SaysWhyItCantBe) {
  OpenShift without;
  without.version = "4.13";
  ToolkitState state = Decide({}, without, kRhcos);
  EXPECT_EQ(state.enabled, -1);
  EXPECT_TRUE(state.image_stream_missing);
  state = Decide({}, With({{"413.92", "i"}}), {"rhcos", "rhcos4.13", {}, {}});
  EXPECT_EQ(state.enabled, -1);
  EXPECT_TRUE(state.nfd_too_old);
  // No node has been described at all.
  EXPECT_FALSE(Decide({}, With({}), {}).nfd_too_old);
}

TEST(DriverToolkit, SaysWhatIsMissing) {
  ToolkitState state = Decide({}, With({{"412.86", "i"}}, true), kRhcos);
  EXPECT_EQ(state.enabled, 1);
  EXPECT_TRUE(state.rhcos_tags_missing);
  EXPECT_TRUE(state.image_stream_broken);
}

}  // namespace
}  // namespace gantry::gpu_operator
