// SPDX-License-Identifier: Apache-2.0
#include "operands/container_toolkit/repair_pace.h"

#include <gtest/gtest.h>

namespace gantry::container_toolkit {
namespace {

using std::chrono::seconds;

const SteadyTime kStart{std::chrono::hours(1)};

TEST(RepairPace, ManyDifferentRepairsAreNoQuarrel) {
  RepairPace pace;
  for (int i = 0; i < 100; ++i) {
    pace.Wrote({std::to_string(i)}, kStart);
    pace.Wrote({"drop-in"}, kStart + i * RepairPace::kWindow / RepairPace::kWrites);
  }
  EXPECT_EQ(pace.NextAt(kStart), kStart);
}

TEST(RepairPace, OneFileAgainAndAgainWaits) {
  RepairPace pace;
  for (int i = 0; i < RepairPace::kWrites; ++i) {
    pace.Wrote({"drop-in", std::to_string(i)}, kStart + seconds(i));
  }
  EXPECT_EQ(pace.NextAt(kStart + seconds(20)), kStart + seconds(20));
  pace.Wrote({"drop-in"}, kStart + seconds(20));
  EXPECT_EQ(pace.NextAt(kStart + seconds(20)), kStart + RepairPace::kWindow);
  pace.Wrote({"drop-in"}, kStart + RepairPace::kWindow);
  EXPECT_EQ(pace.NextAt(kStart + RepairPace::kWindow), kStart + RepairPace::kWindow);
}

TEST(RepairPace, FewRestartsAreEnough) {
  RepairPace pace;
  for (int i = 0; i < RepairPace::kRestarts; ++i) {
    pace.Restarted(kStart);
  }
  EXPECT_EQ(pace.NextAt(kStart), kStart);
  pace.Restarted(kStart);
  EXPECT_EQ(pace.NextAt(kStart), kStart + RepairPace::kWindow);
}

TEST(RetryAfter, OnlyWhatNothingButAChangeMendsIsNotTriedAgain) {
  EXPECT_EQ(RetryAfter(ErrorKind::kUnavailable), seconds(5));
  EXPECT_EQ(RetryAfter(ErrorKind::kTimeout), seconds(60))
      << "`containerd --version` on a busy node";
  EXPECT_EQ(RetryAfter(ErrorKind::kDenied), seconds(60)) << "an immutable file";
  EXPECT_EQ(RetryAfter(ErrorKind::kInvalid), std::nullopt);
  EXPECT_EQ(RetryAfter(ErrorKind::kUnsupported), std::nullopt);
}

}  // namespace
}  // namespace gantry::container_toolkit
