// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/claim_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operands/dra_driver/testing/node.h"

namespace gantry::dra_driver {
namespace {

using kubelet::dra::Claim;
using kubelet::dra::PreparedDevice;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kMig[] = "gpu-2-mig-1g10gb-19-2";

class DraClaimPlan : public testing::Test {
 protected:
  Result<ClaimEntry> Plan(const Json& claim, const std::string& uid = "u") const {
    return PlanClaim(claim, {.ns = "ns", .uid = uid, .name = "name"}, "node", node_.set,
                     node_.devices, checkpoint_);
  }
  std::string Refusal(const Json& claim) const {
    const auto entry = Plan(claim);
    return entry.has_value() ? "" : entry.error().message;
  }
  void Add(const std::string& uid, const std::string& device) {
    checkpoint_.claims[uid] = *Plan(TestClaim(uid, {{"r", device}}), uid);
  }

  const NodeGpus node_ = TestNode();
  Checkpoint checkpoint_;
};

Json Config(const char* source, const char* kind, Json requests, const char* sharing = "null") {
  return {{"source", source},
          {"requests", std::move(requests)},
          {"opaque",
           {{"driver", "gpu.nvidia.com"},
            {"parameters",
             {{"apiVersion", "resource.nvidia.com/v1beta1"},
              {"kind", kind},
              {"sharing", *ParseJson(sharing)}}}}}};
}

TEST_F(DraClaimPlan, AFullGpu) {
  const auto entry = Plan(TestClaim("u", {{"r/first", "gpu-1"}}));
  ASSERT_TRUE(entry.has_value()) << entry.error().message;
  EXPECT_THAT(entry->devices,
              ElementsAre(PreparedDevice{.requests = {"r"},
                                         .pool = "node",
                                         .device = "gpu-1",
                                         .cdi_ids = {"k8s.gpu.nvidia.com/claim=u-gpu-1"}}));
  EXPECT_THAT(entry->reserved, ElementsAre("gpu-1"));
  EXPECT_EQ(entry->ns, "ns");
  EXPECT_EQ(
      entry->status,
      R"({"allocation":{"devices":{"results":[{"request":"r/first","driver":"gpu.nvidia.com","pool":"node","device":"gpu-1"}]}}})");
  EXPECT_EQ(
      entry->prepared,
      R"([{"devices":[{"gpu":{"info":{"uuid":"GPU-1"},"device":{"Requests":["r"],"PoolName":"node","DeviceName":"gpu-1","CDIDeviceIDs":["k8s.gpu.nvidia.com/claim=u-gpu-1"]}},"mig":null}],"configState":{}}])");
}

TEST_F(DraClaimPlan, AMigDevice) {
  const auto entry = Plan(TestClaim("u", {{"r", kMig}}));
  ASSERT_TRUE(entry.has_value()) << entry.error().message;
  EXPECT_EQ(
      entry->prepared,
      R"([{"devices":[{"gpu":null,"mig":{"concrete":{"parentMinor":2,"giId":7,"ciId":0,"migUUID":"MIG-2-7","parentUUID":"GPU-2","parentPCIBusID":"0000:62:00.0"},"device":{"Requests":["r"],"PoolName":"node","DeviceName":"gpu-2-mig-1g10gb-19-2","CDIDeviceIDs":["k8s.gpu.nvidia.com/claim=u-gpu-2-mig-1g10gb-19-2"]}}}],"configState":{}}])");
}

// What this version writes is what it reads again.
TEST_F(DraClaimPlan, TheEntryIsReadAsItWasPlanned) {
  for (const char* device : {"gpu-0", kMig}) {
    checkpoint_.claims = {};
    Json claim = TestClaim("u", {{"r", device}, {"a", "gpu-1"}});
    claim["status"]["allocation"]["devices"]["results"][1]["adminAccess"] = true;
    const auto entry = Plan(claim);
    ASSERT_TRUE(entry.has_value()) << entry.error().message;
    EXPECT_THAT(entry->reserved, ElementsAre(device));
    checkpoint_.claims["u"] = *entry;
    EXPECT_EQ(*ParseCheckpoint(CheckpointText(checkpoint_)), checkpoint_);
  }
}

TEST_F(DraClaimPlan, SeveralRequestsForOneDeviceGetItOnce) {
  const auto entry =
      Plan(TestClaim("u", {{"a", "gpu-0"}, {"b", "gpu-1"}, {"b", "gpu-0"}, {"b", "gpu-0"}}));
  ASSERT_TRUE(entry.has_value()) << entry.error().message;
  ASSERT_EQ(entry->devices.size(), 2);
  EXPECT_THAT(entry->devices[0].requests, ElementsAre("a", "b"));
}

TEST_F(DraClaimPlan, WhatIsNoClaimOfThisNode) {
  EXPECT_THAT(Refusal(TestClaim("other", {{"r", "gpu-0"}})), HasSubstr("its UID is other"));
  EXPECT_THAT(Refusal(Json{{"metadata", {{"uid", "u"}}}}), HasSubstr("not allocated"));
  EXPECT_THAT(Refusal(TestClaim("u", {})), HasSubstr("no device of pool node"));
  Json claim = TestClaim("u", {{"r", "gpu-0"}});
  claim["status"]["allocation"]["devices"]["results"][0]["pool"] = "another";
  EXPECT_THAT(Refusal(claim), HasSubstr("no device of pool node"));
  EXPECT_THAT(Refusal(TestClaim("u", {{"r", "gpu-2"}})), HasSubstr("gpu-2 is not on this node"));
  claim = TestClaim("u", {{"r", "gpu-0"}});
  claim["status"]["allocation"]["devices"]["results"][0]["shareID"] = "s";
  EXPECT_THAT(Refusal(claim), HasSubstr("shares"));
}

TEST_F(DraClaimPlan, WhatAnotherClaimHas) {
  Add("first", "gpu-0");
  EXPECT_EQ(Refusal(TestClaim("u", {{"r", "gpu-0"}})),
            "requested device gpu-0 is already allocated to different claim first");
  EXPECT_EQ(Refusal(TestClaim("u", {{"r", "gpu-1"}})), "");
  // A claim again, and admin access, take nothing from it.
  EXPECT_TRUE(Plan(TestClaim("first", {{"r", "gpu-0"}}), "first").has_value());
  Json admin = TestClaim("u", {{"r", "gpu-0"}});
  admin["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = true;
  EXPECT_EQ(Refusal(admin), "");
  // A claim that holds the GPU which is in MIG mode by now.
  checkpoint_.claims["first"].reserved = {"gpu-2"};
  EXPECT_THAT(Refusal(TestClaim("u", {{"r", kMig}})), HasSubstr("different claim first"));
  // One whose preparation was cut off holds nothing.
  checkpoint_.claims["first"].completed = false;
  EXPECT_EQ(Refusal(TestClaim("u", {{"r", kMig}})), "");
}

TEST_F(DraClaimPlan, ParametersAreThoseOfTheRequestsType) {
  const auto with = [](Json config) {
    return TestClaim("u", {{"g/x", "gpu-0"}, {"m", kMig}}, Json::array({std::move(config)}));
  };
  EXPECT_EQ(Refusal(with(Config("FromClaim", "GpuConfig", Json::array()))), "");
  EXPECT_EQ(Refusal(with(Config("FromClaim", "GpuConfig", {"g"}))), "");
  EXPECT_EQ(Refusal(with(Config("FromClaim", "MigDeviceConfig", {"m"}))), "");
  EXPECT_THAT(Refusal(with(Config("FromClaim", "MigDeviceConfig", {"g"}))),
              HasSubstr("its parameters: MigDeviceConfig is for another type of device"));
  EXPECT_THAT(Refusal(with(Config("FromClass", "GpuConfig", {"g/x", "m"}))),
              HasSubstr("its class' parameters: GpuConfig is for another type"));
  Json other = Config("FromClaim", "Nonsense", Json::array());
  EXPECT_THAT(Refusal(with(other)), HasSubstr("Nonsense"));
  other["opaque"]["driver"] = "other";
  EXPECT_EQ(Refusal(with(other)), "");
  other = Config("FromClaim", "GpuConfig", Json::array());
  other["opaque"].erase("parameters");
  EXPECT_THAT(Refusal(with(other)), HasSubstr("opaque.parameters are missing"));
}

TEST_F(DraClaimPlan, TheClaimsParametersWinOverItsClasses) {
  const char* shared = R"({"strategy":"TimeSlicing"})";
  const Json of_class = Config("FromClass", "GpuConfig", Json::array(), shared);
  const Json of_claim = Config("FromClaim", "GpuConfig", Json::array());
  EXPECT_THAT(Refusal(TestClaim("u", {{"r", "gpu-0"}}, Json::array({of_class}))),
              HasSubstr("feature gate"));
  EXPECT_EQ(Refusal(TestClaim("u", {{"r", "gpu-0"}}, Json::array({of_claim, of_class}))), "");
}

TEST_F(DraClaimPlan, WhatAContainerHasFromADevicePlugin) {
  const auto check = [&](const char* device, const gpu::GpuPart& part) {
    const auto entry = Plan(TestClaim("u", {{"r", device}}));
    const auto checked = CheckHolders(
        *entry, node_.set, node_.devices,
        {{part, {{.ns = "ns", .pod = "pod", .container = "c"}}}, {{.uuid = "GPU-9"}, {}}});
    return checked.has_value() ? "" : checked.error().message;
  };
  EXPECT_EQ(check("gpu-0", {.uuid = "GPU-0"}), "pod ns/pod has device gpu-0 from a device plugin");
  EXPECT_EQ(check("gpu-0", {.uuid = "GPU-1"}), "");
  EXPECT_THAT(check(kMig, {.uuid = "GPU-2"}), HasSubstr("pod ns/pod"));
  EXPECT_THAT(check(kMig, {.uuid = "GPU-2", .gpu_instance = 7}), HasSubstr("pod ns/pod"));
  EXPECT_EQ(check(kMig, {.uuid = "GPU-2", .gpu_instance = 9}), "");
  const auto entry = Plan(TestClaim("u", {{"r", kMig}}));
  EXPECT_TRUE(CheckHolders(*entry, node_.set, {}, {}));
}

}  // namespace
}  // namespace gantry::dra_driver
