// SPDX-License-Identifier: Apache-2.0

#include "operator/gone_nodes.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(GoneNodes, OneThatComesBackIsMissedAnew) {
  const SteadyTime start{std::chrono::hours(1)};
  GoneNodes gone;
  EXPECT_EQ(gone.Missed("a", start), GoneNodes::kStays);
  EXPECT_EQ(gone.Missed("a", start + seconds(60)), GoneNodes::kStays - seconds(60));
  gone.Forget("a");
  EXPECT_EQ(gone.Missed("a", start + seconds(61)), GoneNodes::kStays);
  EXPECT_EQ(gone.Missed("b", start + seconds(61)), GoneNodes::kStays) << "each by itself";
  EXPECT_EQ(gone.Missed("a", start + seconds(61) + GoneNodes::kStays), milliseconds(0));
  EXPECT_EQ(gone.Missed("a", start + seconds(99) + GoneNodes::kStays), milliseconds(0));
}

}  // namespace
}  // namespace gantry::gpu_operator
