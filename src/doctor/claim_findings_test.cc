// SPDX-License-Identifier: Apache-2.0
#include "doctor/claim_findings.h"

#include <gmock/gmock.h>

#include "doctor/policy_facts.h"
#include "doctor/testing/gpu_cluster.h"

namespace gantry::doctor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A cluster with a GPUCluster, whose node offers two devices.
class ClaimFindings : public GpuClusterTest {
 protected:
  ClaimFindings() {
    cluster_.policies = {PolicyFrom(Json::parse(
        R"({"kind": "GPUCluster", "metadata": {"name": "gpu-cluster"},
            "spec": {"draDriver": {}}, "status": {"state": "ready"}})"))};
    cluster_.devices = {{"n1", 2}};
    node_["metadata"]["labels"]["nvidia.com/gpu.deploy.dra-driver"] = "true";
    node_["status"]["capacity"].erase("nvidia.com/gpu");
    node_["status"]["allocatable"].erase("nvidia.com/gpu");
  }

  static Json PodWithClaim() {
    Json pod = GpuPod("waiting", 1);
    pod["spec"]["containers"][0]["resources"] = {{"claims", Json::array({{{"name", "gpu"}}})}};
    pod["spec"]["resourceClaims"] = Json::array({{{"name", "gpu"}}});
    pod["status"]["conditions"][0]["message"] =
        "0/1 nodes are available: 1 cannot allocate all "
        "claims.";
    return pod;
  }
};

TEST_F(ClaimFindings, NothingIsWrongWithANodeWithoutADevicePlugin) {
  EXPECT_THAT(With({}), IsEmpty());
}

TEST_F(ClaimFindings, ANodeWithoutASliceIsNamed) {
  cluster_.devices = std::map<std::string, long long>();
  const auto findings = With({});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].code, "NoDevicesOffered");
  EXPECT_EQ(findings[0].object, "node n1");
}

TEST_F(ClaimFindings, AFullClusterIsToldFromAClaimThatNothingMatches) {
  for (const Json& pod : {PodWithClaim(), GpuPod("old", 1)}) {
    cluster_.devices_allocated = 2;
    auto findings = With({pod});
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].code, "GpusInUse");
    cluster_.devices_allocated = 1;
    findings = With({pod});
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].code, "ClaimNotAllocated");
    EXPECT_THAT(findings[0].message, HasSubstr("1 of 2 are not allocated"));
  }
}

TEST_F(ClaimFindings, WithoutAnyDeviceThePodIsNotToBlame) {
  cluster_.devices = std::map<std::string, long long>();
  const auto findings = With({PodWithClaim()});
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[1].code, "ResourceNotOffered");
}

}  // namespace
}  // namespace gantry::doctor
