// SPDX-License-Identifier: Apache-2.0
#include "operands/vfio_manager/withdrawal.h"

#include <gtest/gtest.h>

namespace gantry::vfio_manager {
namespace {

constexpr char kDeploy[] = "nvidia.com/gpu.deploy.vfio-manager";

TEST(IsWithdrawnTest, OnlyWithoutItsDeployLabel) {
  EXPECT_TRUE(IsWithdrawn({{"nvidia.com/gpu.workload.config", "container"}}));
  EXPECT_FALSE(IsWithdrawn({{kDeploy, "true"}}));
  EXPECT_FALSE(IsWithdrawn({{kDeploy, "false"}}));
  EXPECT_FALSE(IsWithdrawn({{kDeploy, ""}}));
  EXPECT_FALSE(IsWithdrawn({{kDeploy, "paused-for-cc-mode-change"}}));
}

}  // namespace
}  // namespace gantry::vfio_manager
