// SPDX-License-Identifier: Apache-2.0
#include "operator/claim_facts.h"

#include <gmock/gmock.h>

namespace gantry::gpu_operator {
namespace {

using testing::HasSubstr;

TEST(ClaimFacts, ASliceWithoutDevicesSaysOnlyThatADriverRuns) {
  Json slice = {{"spec", {{"nodeName", "a"}, {"driver", "gpu.nvidia.com"}}}};
  EXPECT_EQ(ProjectSlice(slice), (SliceFacts{.node = "a", .devices = false}));
  slice["spec"]["devices"] = Json::array({{{"name", "gpu-0"}}});
  EXPECT_EQ(ProjectSlice(slice), (SliceFacts{.node = "a", .devices = true}));
}

TEST(ClaimFacts, AnOlderClusterIsNamedWithItsVersion) {
  EXPECT_THAT(ClaimsNotServed("v1.33.4"),
              AllOf(HasSubstr("1.34"), HasSubstr("(v1.33.4)"), HasSubstr("resource.k8s.io/v1")));
  EXPECT_THAT(ClaimsNotServed(""), HasSubstr("this API server does not serve"));
}

}  // namespace
}  // namespace gantry::gpu_operator
