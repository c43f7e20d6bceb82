// SPDX-License-Identifier: Apache-2.0
#include "gpu/device_id.h"

#include <gtest/gtest.h>

namespace gantry::gpu {
namespace {

TEST(DeviceIds, Dcgm201TheGpuOfAShareIsFoundInItsId) {
  EXPECT_EQ(UuidOf("GPU-1::3"), "GPU-1");
  EXPECT_EQ(UuidOf("GPU-1"), "GPU-1");
  EXPECT_EQ(UuidOf(ShareId("GPU-1", 12)), "GPU-1");
  EXPECT_TRUE(IsReplica("GPU-1::0"));
  EXPECT_FALSE(IsReplica("GPU-1"));
}

}  // namespace
}  // namespace gantry::gpu
