// SPDX-License-Identifier: Apache-2.0
// The child that asks the driver, where there is none. What a driver tells, and one that never
// answers, is tested with the fake one (tests/component/test_gpu_features.py).
#include "operands/gpu_features/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace gantry::gpu_features {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class GathererTest : public testing::Test {
 protected:
  GathererTest() {
    char name[] = "/tmp/gantry-gather-XXXXXX";
    root_ = mkdtemp(name);
    fs::create_directories(root_ / "usr/lib64");
  }
  ~GathererTest() override { fs::remove_all(root_); }
  Sources FromRoot() const {
    return {.driver_root = root_, .dev_root = "", .sys_root = root_, .machine_type_file = ""};
  }
  fs::path root_;
  Gatherer gatherer_;
};

TEST_F(GathererTest, NoLibraryIsNotFound) {
  const auto facts = gatherer_.Ask(FromRoot(), std::chrono::seconds(20), -1);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(facts.error().message, HasSubstr("find libnvidia-ml.so.1 under " + root_.string()));
}

TEST_F(GathererTest, AFileThatIsNoLibraryIsNotFoundAndAskedAnew) {
  std::ofstream(root_ / "usr/lib64/libnvidia-ml.so.1") << "no library";
  for (int i = 0; i < 2; ++i) {
    const auto facts = gatherer_.Ask(FromRoot(), std::chrono::seconds(20), -1);
    ASSERT_FALSE(facts.has_value());
    EXPECT_EQ(facts.error().kind, ErrorKind::kNotFound);
  }
}

}  // namespace
}  // namespace gantry::gpu_features
