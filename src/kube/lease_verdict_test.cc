// SPDX-License-Identifier: Apache-2.0
#include "kube/lease_verdict.h"

#include <gtest/gtest.h>

namespace gantry::kube {
namespace {

using std::chrono::seconds;

Json StoredLease(const std::string& holder, const std::string& version) {
  return {{"metadata", {{"name", "l"}, {"namespace", "n"}, {"resourceVersion", version}}},
          {"spec",
           {{"holderIdentity", holder},
            {"leaseDurationSeconds", 15},
            {"acquireTime", "then"},
            {"leaseTransitions", 4}}}};
}

TEST(LeaseVerdict, AForeignLeaseRunsOutADurationAfterItsLastChangeWasSeen) {
  FakeClock clock;
  LeaseSight sight = See({}, StoredLease("other", "1"), clock.Now());
  clock.Advance(seconds(14));
  sight = See(sight, StoredLease("other", "1"), clock.Now());
  EXPECT_EQ(Judge(sight, "us", clock.Now()), LeaseVerdict::kHeldByOther);
  clock.Advance(seconds(1));
  EXPECT_EQ(Judge(sight, "us", clock.Now()), LeaseVerdict::kFree);
  sight = See(sight, StoredLease("other", "2"), clock.Now());
  EXPECT_EQ(Judge(sight, "us", clock.Now()), LeaseVerdict::kHeldByOther);
}

TEST(LeaseVerdict, OursAndNobodys) {
  EXPECT_EQ(Judge(See({}, StoredLease("us", "1"), {}), "us", {}), LeaseVerdict::kHeldByUs);
  EXPECT_EQ(Judge(See({}, StoredLease("", "1"), {}), "us", {}), LeaseVerdict::kFree);
  EXPECT_EQ(Judge(See({}, Json(), {}), "us", {}), LeaseVerdict::kFree);
}

TEST(NextLease, TakingCountsATransitionAndRenewingDoesNot) {
  const Key key{"n", "l"};
  const Json taken = NextLease(StoredLease("other", "1"), key, "us", seconds(15), WallTime{});
  EXPECT_EQ(taken.at("spec").at("leaseTransitions"), 5);
  EXPECT_EQ(taken.at("spec").at("holderIdentity"), "us");
  EXPECT_EQ(taken.at("spec").at("acquireTime"), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(ResourceVersionOf(taken), "1");
  const Json renewed = NextLease(StoredLease("us", "1"), key, "us", seconds(15), WallTime{});
  EXPECT_EQ(renewed.at("spec").at("leaseTransitions"), 4);
  EXPECT_EQ(renewed.at("spec").at("acquireTime"), "then");
  const Json fresh = NextLease(Json(), key, "us", seconds(15), WallTime{});
  EXPECT_EQ(fresh.at("spec").at("leaseTransitions"), 0);
  EXPECT_EQ(KeyOf(fresh), key);
}

TEST(NextLease, GivingBackLeavesNoHolder) {
  const Json free = NextLease(StoredLease("us", "1"), {"n", "l"}, "", seconds(15), WallTime{});
  EXPECT_FALSE(free.at("spec").contains("holderIdentity"));
  EXPECT_EQ(free.at("spec").at("leaseDurationSeconds"), 1);
  EXPECT_EQ(Judge(See({}, free, {}), "next", {}), LeaseVerdict::kFree);
}

}  // namespace
}  // namespace gantry::kube
