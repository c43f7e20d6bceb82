// SPDX-License-Identifier: Apache-2.0
// The health of GPUs on a clock of the test's own, and which XIDs count.
#include "operands/device_plugin/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::device_plugin {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const SteadyTime kStart{std::chrono::hours(1)};

HealthBook Book(std::string_view disable = "", std::string_view enable = "") {
  HealthBook book(ParseXidPolicy(disable, enable));
  book.Track({"a", "b"});
  return book;
}

TEST(HealthBook, AFatalXidTakesOneGpuOut) {
  auto book = Book();
  const auto change = book.OnXid("a", 79, kStart);
  ASSERT_TRUE(change);
  EXPECT_EQ(*change, (HealthChange{.uuid = "a", .healthy = false, .reason = "XID 79"}));
  EXPECT_THAT(book.unhealthy(), ElementsAre("a"));
  EXPECT_FALSE(book.OnXid("a", 48, kStart)) << "told once";
}

TEST(HealthBook, AnApplicationsXidDoesNothing) {
  auto book = Book();
  for (const uint64_t xid : {13, 31, 43, 45, 68, 109}) {
    EXPECT_FALSE(book.OnXid("a", xid, kStart)) << xid;
  }
  EXPECT_FALSE(book.OnXid("", 79, kStart)) << "an event of nobody concerns nobody";
  EXPECT_THAT(book.unhealthy(), IsEmpty());
}

TEST(HealthBook, ComesBackAfterSteadyProbes) {
  auto book = Book();
  book.OnXid("a", 79, kStart);
  EXPECT_FALSE(book.OnProbe("a", {}, kStart + seconds(2)));
  EXPECT_FALSE(book.OnProbe("a", {}, kStart + seconds(14)));
  const auto back = book.OnProbe("a", {}, kStart + seconds(15));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, (HealthChange{.uuid = "a", .healthy = true, .reason = "XID 79"}));
  EXPECT_THAT(book.unhealthy(), IsEmpty());
}

TEST(HealthBook, AFailedProbeStartsTheWaitAnew) {
  auto book = Book();
  const auto lost = book.OnProbe("a", Fail(ErrorKind::kUnavailable, "GPU_IS_LOST"), kStart);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason, "GPU_IS_LOST");
  EXPECT_FALSE(book.OnProbe("a", {}, kStart + seconds(10)));
  EXPECT_FALSE(book.OnProbe("a", Fail(ErrorKind::kTimeout, "x"), kStart + seconds(12)));
  EXPECT_FALSE(book.OnProbe("a", {}, kStart + seconds(14)));
  EXPECT_FALSE(book.OnProbe("a", {}, kStart + seconds(28)));
  EXPECT_TRUE(book.OnProbe("a", {}, kStart + seconds(29)));
}

TEST(HealthBook, AnotherXidStartsTheWaitAnew) {
  auto book = Book();
  book.OnXid("a", 79, kStart);
  book.OnXid("a", 79, kStart + seconds(10));
  EXPECT_FALSE(book.OnProbe("a", {}, kStart + seconds(20)));
  EXPECT_TRUE(book.OnProbe("a", {}, kStart + seconds(25)));
}

TEST(HealthBook, OneGpusErrorIsItsOwn) {
  auto book = Book();
  book.OnProbe("b", Fail(ErrorKind::kInternal, "UNKNOWN"), kStart);
  EXPECT_THAT(book.unhealthy(), ElementsAre("b"));
  EXPECT_FALSE(book.OnProbe("c", Fail(ErrorKind::kInternal, "UNKNOWN"), kStart));
}

TEST(HealthBook, KeepsItsStateWhenGpusAreFoundAnew) {
  auto book = Book();
  book.OnXid("a", 79, kStart);
  book.Track({"a", "c"});
  EXPECT_THAT(book.unhealthy(), ElementsAre("a"));
  book.Track({"c"});
  EXPECT_THAT(book.unhealthy(), IsEmpty());
}

TEST(HealthBook, ProbesMoreOftenWhileSomethingIsWrong) {
  auto book = Book();
  EXPECT_EQ(book.NextProbe(kStart), kStart + HealthBook::kProbePause);
  book.OnXid("a", 79, kStart);
  EXPECT_EQ(book.NextProbe(kStart), kStart + HealthBook::kReprobePause);
}

TEST(HealthBook, NothingIsProbedWhenChecksAreOff) {
  EXPECT_FALSE(Book("all").NextProbe(kStart));
  EXPECT_TRUE(Book("xids").NextProbe(kStart));
  auto book = Book("all", "79");
  book.OnXid("a", 79, kStart);
  EXPECT_TRUE(book.NextProbe(kStart)) << "else it could not come back";
}

TEST(XidPolicy, DisableAndEnable) {
  struct Case {
    const char* disable;
    const char* enable;
    std::set<uint64_t> fatal;
    std::set<uint64_t> harmless;
    bool listens;
  };
  const std::vector<Case> cases = {
      {"", "", {48, 79, 94}, {13, 31}, true}, {"48, 79,junk,-3", "", {94}, {48, 79, 13}, true},
      {"all", "", {}, {79, 13}, false},       {"XIDS", "", {}, {79, 13}, false},
      {"", "13", {13, 79}, {31}, true},       {"all", "79", {79}, {48, 13}, true},
      {"48", "48", {48}, {13}, true},         {"all", "ALL", {13, 79}, {}, true},
      {"79", "xids", {13, 79}, {}, true},
  };
  for (const auto& one : cases) {
    const auto policy = ParseXidPolicy(one.disable, one.enable);
    for (const auto xid : one.fatal) {
      EXPECT_TRUE(policy.IsFatal(xid)) << one.disable << "/" << one.enable << " " << xid;
    }
    for (const auto xid : one.harmless) {
      EXPECT_FALSE(policy.IsFatal(xid)) << one.disable << "/" << one.enable << " " << xid;
    }
    EXPECT_EQ(policy.listens(), one.listens) << one.disable << "/" << one.enable;
  }
}

}  // namespace
}  // namespace gantry::device_plugin
