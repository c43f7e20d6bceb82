// SPDX-License-Identifier: Apache-2.0
// Which library is opened. What it says is tested with a fake one (tests/component/test_nvml.py).
#include "gpu/open_nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/temp_folder.h"

namespace gantry::gpu {
namespace {

using ::testing::HasSubstr;

std::string WhyNot(const NvmlPlace& place) { return OpenNvml(place).error().message; }

TEST(OpenNvmlTest, LooksBelowTheRootAndThenIfItMayWhereTheLoaderLooks) {
  const TempFolder root;
  EXPECT_THAT(WhyNot({.driver_root = root.path()}), HasSubstr("under " + root.path()));
  EXPECT_EQ(WhyNot({.driver_root = root.path(), .or_by_loader = true}), WhyNot({}));
  root.Write("usr/lib64/libnvidia-ml.so.1", "no library");
  const std::string library = root / "usr/lib64/libnvidia-ml.so.1";
  EXPECT_THAT(WhyNot({.driver_root = root.path(), .or_by_loader = true}), HasSubstr(library));
  EXPECT_THAT(WhyNot({.driver_root = "/nowhere", .library = library}), HasSubstr(library));
}

}  // namespace
}  // namespace gantry::gpu
