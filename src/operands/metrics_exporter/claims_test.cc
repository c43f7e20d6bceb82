// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/gpus.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Json SliceObject(const Json& devices) {
  return {{"spec",
           {{"driver", kClaimDriver},
            {"pool", {{"name", "n1"}, {"generation", 3}, {"resourceSliceCount", 2}}},
            {"devices", devices}}}};
}

TEST(Slices, OfBothVersions) {
  const Json attributes = {{"uuid", {{"string", "MIG-1"}}},
                           {"gpu.nvidia.com/profile", {{"string", "1g.10gb"}}},
                           {"cores", {{"int", 7}}}};
  const Slice expected{.pool = "n1",
                       .generation = 3,
                       .count = 2,
                       .devices = {{.name = "mig-1", .uuid = "MIG-1", .profile = "1g.10gb"}}};
  EXPECT_EQ(ProjectSlice(SliceObject({{{"name", "mig-1"}, {"attributes", attributes}}})), expected);
  EXPECT_EQ(
      ProjectSlice(SliceObject({{{"name", "mig-1"}, {"basic", {{"attributes", attributes}}}}})),
      expected);
}

TEST(Slices, OnlyACompleteGenerationCounts) {
  const auto slice = [](long long generation, long long count, const std::string& device) {
    return Slice{.pool = "n1",
                 .generation = generation,
                 .count = count,
                 .devices = {{.name = device, .uuid = device, .profile = ""}}};
  };
  const auto names = [](const SliceDevices& devices) {
    std::vector<std::string> all;
    for (const auto& [key, device] : devices) {
      all.push_back(key.second);
    }
    return all;
  };
  EXPECT_THAT(names(CompletePools({slice(2, 2, "b")})), IsEmpty());
  EXPECT_THAT(names(CompletePools({slice(1, 1, "a"), slice(2, 2, "b")})), ElementsAre("a"));
  EXPECT_THAT(names(CompletePools({slice(1, 1, "a"), slice(2, 2, "b"), slice(2, 2, "c")})),
              ElementsAre("b", "c"));
}

TEST(Claims, HoldTheDevicesOfTheirPools) {
  auto gpus = gpu::Gpus(2);
  gpu::AddMig(gpus[1], {"1g.10gb"});
  const std::string mig = gpus[1].mig_devices.front().uuid;
  const SliceDevices devices = {{{"n1", "gpu-0"}, {"gpu-0", "GPU-0", ""}},
                                {{"n1", "mig-1"}, {"mig-1", mig, "1g.10gb"}}};
  const auto claim = [](const char* driver, const char* device) {
    return kubelet::ClaimDevice{"claim", "team", driver, "n1", device};
  };
  gpu::Holders holders;
  AddClaimHolders(
      {{.ns = "team",
        .name = "job",
        .containers = {{.name = "main",
                        .devices = {},
                        .claims = {claim(kClaimDriver, "gpu-0"), claim(kClaimDriver, "mig-1"),
                                   claim(kClaimDriver, "gpu-7"),
                                   claim("nic.example.com", "gpu-0")}}}}},
      devices, {{{.ns = "team", .name = "claim"}, {}}}, gpus, holders);
  ASSERT_EQ(holders.size(), 2U);
  const auto& whole = holders.at({"GPU-0"});
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0].pod, "job");
  EXPECT_THAT(whole[0].attributes,
              ElementsAre(Pair("dra_claim_name", "claim"), Pair("dra_claim_namespace", "team"),
                          Pair("dra_driver_name", kClaimDriver), Pair("dra_pool_name", "n1"),
                          Pair("dra_device_name", "gpu-0")));
  const auto& part = holders.at({"GPU-1", gpus[1].mig_devices.front().gpu_instance});
  EXPECT_THAT(part[0].attributes, Contains(Pair("dra_mig_profile", "1g.10gb")));
  EXPECT_THAT(part[0].attributes, Contains(Pair("dra_mig_device_uuid", mig)));
}

TEST(Claims, WhoOnlyLooksAtADeviceDoesNotHoldIt) {
  const AdminDevices admin = ProjectClaim(*ParseJson(R"({"status": {"allocation": {"devices": {
      "results": [{"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0", "adminAccess": true},
                  {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-1"}]}}}})"));
  EXPECT_THAT(admin, ElementsAre(Pair("n1", "gpu-0")));
  const auto gpus = gpu::Gpus(2);
  const SliceDevices devices = {{{"n1", "gpu-0"}, {"gpu-0", "GPU-0", ""}},
                                {{"n1", "gpu-1"}, {"gpu-1", "GPU-1", ""}}};
  const std::vector<kubelet::PodResources> pods = {
      {.ns = "team",
       .name = "job",
       .containers = {{.name = "main",
                       .devices = {},
                       .claims = {{"claim", "team", kClaimDriver, "n1", "gpu-0"},
                                  {"claim", "team", kClaimDriver, "n1", "gpu-1"},
                                  {"new", "team", kClaimDriver, "n1", "gpu-0"},
                                  {"nic", "team", "nic.example.com", "n1", "nic-0"}}}}}};
  const kube::Key claim{.ns = "team", .name = "claim"};
  const kube::Key unknown{.ns = "team", .name = "new"};
  EXPECT_THAT(ClaimsOf(pods), ElementsAre(claim, unknown));
  gpu::Holders holders;
  AddClaimHolders(pods, devices, {{claim, admin}}, gpus, holders);
  ASSERT_EQ(holders.size(), 1U) << "of a claim that is not known yet nothing is said";
  EXPECT_EQ(holders.at({"GPU-1"}).front().pod, "job");
}

}  // namespace
}  // namespace gantry::metrics_exporter
