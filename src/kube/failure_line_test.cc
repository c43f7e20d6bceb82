// SPDX-License-Identifier: Apache-2.0
#include "kube/failure_line.h"

#include <gmock/gmock.h>

#include <vector>

namespace gantry::kube {
namespace {

TEST(FailureLine, IsDueAtEachDoublingAndWhenTheMessageIsNew) {
  FailureLine line;
  std::vector<int> due;
  for (int failures = 1; failures <= 20; ++failures) {
    if (line.Due(failures == 11 ? "other" : "same", failures)) {
      due.push_back(failures);
    }
  }
  EXPECT_THAT(due, testing::ElementsAre(1, 2, 4, 8, 11, 12, 16));
  EXPECT_TRUE(line.Due("same", 1));
}

}  // namespace
}  // namespace gantry::kube
