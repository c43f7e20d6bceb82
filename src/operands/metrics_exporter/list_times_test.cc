// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/list_times.h"

#include <gtest/gtest.h>

namespace gantry::metrics_exporter {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kNow{seconds(1000)};

TEST(ListTimes, SeldomWhileNothingChanges) {
  ListTimes times({.interval = seconds(10)});
  EXPECT_LE(times.next(), kNow) << "at once";
  times.Listed(kNow);
  EXPECT_EQ(times.next(), kNow + seconds(10)) << "changes are not seen";
  times.SetEvents(true);
  times.Listed(kNow);
  EXPECT_EQ(times.next(), kNow + seconds(60));
}

TEST(ListTimes, SoonAfterAChange) {
  ListTimes times({.interval = seconds(10)});
  times.SetEvents(true);
  times.Listed(kNow);
  times.Changed(kNow + seconds(1));
  times.Changed(kNow + seconds(1) + milliseconds(50));
  EXPECT_EQ(times.next(), kNow + seconds(1) + milliseconds(100)) << "a row of changes is one";
}

TEST(ListTimes, AFailureIsRepeatedAndTheLastAnswerCountsForAWhile) {
  ListTimes times({.interval = seconds(30)});
  times.SetEvents(true);
  times.Listed(kNow);
  EXPECT_FALSE(times.Failed(kNow + seconds(30)));
  EXPECT_EQ(times.next(), kNow + seconds(35));
  EXPECT_FALSE(times.Failed(kNow + seconds(59)));
  EXPECT_TRUE(times.Failed(kNow + seconds(60)));
  ListTimes quick({.interval = seconds(1)});
  quick.Listed(kNow);
  EXPECT_FALSE(quick.Failed(kNow + seconds(4)));
  EXPECT_TRUE(quick.Failed(kNow + seconds(5)));
}

}  // namespace
}  // namespace gantry::metrics_exporter
