// SPDX-License-Identifier: Apache-2.0
// The health of GPUs and MIG devices on a clock of the test's own, and what each XID means.
#include "gpu/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/gpus.h"

namespace gantry::gpu {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const SteadyTime kStart{std::chrono::hours(1)};
const auto kLost = Status(Fail(ErrorKind::kUnavailable, "GPU_IS_LOST"));

HealthBook Book(std::string_view disable = "", std::string_view enable = "") {
  HealthBook book;
  book.SetPolicy(MakeXidPolicy({}, disable, enable));
  book.Track(Gpus(4));
  return book;
}

XidEvent Xid(const std::string& gpu, uint64_t xid) { return {.gpu_uuid = gpu, .xid = xid}; }

HealthChange Change(Health from, Health to, std::string reason) {
  return {.uuid = "GPU-1", .from = from, .to = to, .reason = std::move(reason)};
}

TEST(HealthBook, AFatalXidTakesOneGpuOut) {
  auto book = Book();
  EXPECT_THAT(book.OnXid(Xid("GPU-1", 79), kStart),
              ElementsAre(Change(Health::kHealthy, Health::kUnhealthy, "XID 79")));
  EXPECT_THAT(book.out_of_service(), ElementsAre("GPU-1"));
  EXPECT_THAT(book.OnXid(Xid("GPU-1", 48), kStart), IsEmpty()) << "told once";
  EXPECT_THAT(book.reasons(), ElementsAre(testing::Pair("GPU-1", "XID 79")));
}

// The effect of each XID on its GPU, and on no other.
TEST(HealthBook, TheVerdictOfEachXid) {
  const std::map<uint64_t, Health> verdicts = {
      {13, Health::kHealthy},    {31, Health::kHealthy},    {43, Health::kHealthy},
      {45, Health::kHealthy},    {68, Health::kHealthy},    {63, Health::kSuspect},
      {94, Health::kSuspect},    {154, Health::kSuspect},   {48, Health::kUnhealthy},
      {64, Health::kUnhealthy},  {74, Health::kUnhealthy},  {79, Health::kUnhealthy},
      {95, Health::kUnhealthy},  {109, Health::kUnhealthy}, {119, Health::kUnhealthy},
      {120, Health::kUnhealthy}, {140, Health::kUnhealthy}, {999, Health::kUnhealthy}};
  for (const auto& [xid, health] : verdicts) {
    auto book = Book();
    const auto changes = book.OnXid(Xid("GPU-2", xid), kStart);
    if (health == Health::kHealthy) {
      EXPECT_THAT(changes, IsEmpty()) << xid;
    } else {
      ASSERT_THAT(changes, SizeIs(1)) << xid;
      EXPECT_EQ(changes[0].uuid, "GPU-2");
      EXPECT_EQ(Name(changes[0].to), Name(health)) << xid;
    }
    EXPECT_EQ(book.out_of_service().size(), InService(health) ? 0U : 1U) << xid;
  }
}

TEST(HealthBook, AnXidOfAGpuThatIsNotKnownPutsAllToTheTest) {
  auto book = Book();
  EXPECT_THAT(book.OnXid(Xid("", 31), kStart), IsEmpty()) << "an application's";
  EXPECT_THAT(book.OnXid(Xid("", 79), kStart), SizeIs(4));
  EXPECT_THAT(book.out_of_service(), IsEmpty()) << "three of them are well";
  EXPECT_EQ(book.NextProbe(kStart), kStart + HealthBook::kReprobePause);
  EXPECT_THAT(book.OnProbe("GPU-1", kLost, kStart + seconds(2)),
              ElementsAre(Change(Health::kSuspect, Health::kUnhealthy, "GPU_IS_LOST")));
  EXPECT_THAT(book.OnProbe("GPU-2", {}, kStart + seconds(15)), SizeIs(1));
  EXPECT_THAT(book.out_of_service(), ElementsAre("GPU-1"));
}

TEST(HealthBook, Kdp1974AContextSwitchTimeoutNeedsAResetAndAContainedErrorDoesNot) {
  auto book = Book();
  book.OnXid(Xid("GPU-0", 109), kStart);
  book.OnXid(Xid("GPU-1", 94), kStart);
  EXPECT_THAT(book.out_of_service(), ElementsAre("GPU-0"));
}

TEST(HealthBook, Kdp1014ComesBackAfterSteadyProbes) {
  auto book = Book();
  book.OnXid(Xid("GPU-1", 79), kStart);
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(2)),
              ElementsAre(Change(Health::kUnhealthy, Health::kRecovering, "XID 79")));
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(14)), IsEmpty());
  EXPECT_THAT(book.out_of_service(), SizeIs(1)) << "not before it has been steady";
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(15)),
              ElementsAre(Change(Health::kRecovering, Health::kHealthy, "XID 79")));
  EXPECT_THAT(book.out_of_service(), IsEmpty());
}

TEST(HealthBook, Kdp231OneLostGpuIsLostAlone) {
  auto book = Book();
  EXPECT_THAT(book.OnProbe("GPU-1", kLost, kStart),
              ElementsAre(Change(Health::kHealthy, Health::kUnhealthy, "GPU_IS_LOST")));
  EXPECT_THAT(book.out_of_service(), ElementsAre("GPU-1"));
  EXPECT_THAT(book.OnProbe("GPU-9", kLost, kStart), IsEmpty());
}

TEST(HealthBook, ASuspectStaysInServiceWhileItAnswers) {
  auto book = Book();
  EXPECT_THAT(book.OnXid(Xid("GPU-1", 94), kStart),
              ElementsAre(Change(Health::kHealthy, Health::kSuspect, "XID 94")));
  EXPECT_THAT(book.out_of_service(), IsEmpty());
  EXPECT_EQ(book.NextProbe(kStart), kStart + HealthBook::kReprobePause);
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(2)), IsEmpty());
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(15)),
              ElementsAre(Change(Health::kSuspect, Health::kHealthy, "XID 94")));
}

TEST(HealthBook, ASuspectThatDoesNotAnswerGoes) {
  auto book = Book();
  book.OnXid(Xid("GPU-1", 94), kStart);
  EXPECT_THAT(book.OnProbe("GPU-1", kLost, kStart + seconds(2)),
              ElementsAre(Change(Health::kSuspect, Health::kUnhealthy, "GPU_IS_LOST")));
}

TEST(HealthBook, AFailedProbeStartsTheWaitAnew) {
  auto book = Book();
  book.OnProbe("GPU-1", kLost, kStart);
  book.OnProbe("GPU-1", {}, kStart + seconds(10));
  EXPECT_THAT(book.OnProbe("GPU-1", kLost, kStart + seconds(12)),
              ElementsAre(Change(Health::kRecovering, Health::kUnhealthy, "GPU_IS_LOST")));
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(14)), SizeIs(1));
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(28)), IsEmpty());
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(29)), SizeIs(1));
}

TEST(HealthBook, AnotherXidStartsTheWaitAnew) {
  auto book = Book();
  book.OnXid(Xid("GPU-1", 79), kStart);
  book.OnXid(Xid("GPU-1", 79), kStart + seconds(10));
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(20)), SizeIs(1)) << "recovering";
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(24)), IsEmpty());
  EXPECT_THAT(book.OnProbe("GPU-1", {}, kStart + seconds(25)), SizeIs(1));
}

TEST(HealthBook, AnXidOfAMigInstanceConcernsItsDevicesOnly) {
  auto gpus = Gpus(2);
  AddMig(gpus[0], {"1g.10gb", "1g.10gb"});
  HealthBook book;
  book.Track(gpus);
  auto event = Xid("GPU-0", 48);
  event.gpu_instance = 2;
  event.compute_instance = 0;
  book.OnXid(event, kStart);
  EXPECT_THAT(book.out_of_service(), ElementsAre("MIG-0-1"));
  event.compute_instance = 1;
  EXPECT_THAT(book.OnXid(event, kStart), IsEmpty());
  book.OnXid(Xid("GPU-0", 48), kStart);
  EXPECT_THAT(book.out_of_service(), ElementsAre("MIG-0-0", "MIG-0-1"))
      << "one of the GPU concerns all of it";
  book.OnProbe("GPU-0", {}, kStart + seconds(20));
  EXPECT_THAT(book.out_of_service(), IsEmpty());
}

TEST(HealthBook, KeepsItsStateWhenGpusAreFoundAnew) {
  auto book = Book();
  book.OnXid(Xid("GPU-1", 79), kStart);
  book.Track(Gpus(2));
  EXPECT_THAT(book.out_of_service(), ElementsAre("GPU-1"));
  book.Track(Gpus(1));
  EXPECT_THAT(book.out_of_service(), IsEmpty());
}

TEST(HealthBook, ProbesMoreOftenWhileSomethingIsWrong) {
  auto book = Book();
  EXPECT_EQ(book.NextProbe(kStart), kStart + HealthBook::kProbePause);
  book.OnXid(Xid("GPU-1", 79), kStart);
  EXPECT_EQ(book.NextProbe(kStart), kStart + HealthBook::kReprobePause);
}

TEST(HealthBook, NothingIsProbedWhenChecksAreOff) {
  EXPECT_FALSE(Book("all").NextProbe(kStart));
  EXPECT_TRUE(Book("xids").NextProbe(kStart));
  auto book = Book("all", "79");
  book.OnXid(Xid("GPU-1", 79), kStart);
  EXPECT_TRUE(book.NextProbe(kStart)) << "else it could not come back";
}

TEST(HealthBook, AnotherPolicyCountsFromThenOn) {
  auto book = Book();
  book.SetPolicy(MakeXidPolicy({.ignore = {79}, .suspect = {13}, .unhealthy = {}}, "", ""));
  EXPECT_THAT(book.OnXid(Xid("GPU-0", 79), kStart), IsEmpty());
  EXPECT_EQ(book.OnXid(Xid("GPU-0", 13), kStart).at(0).to, Health::kSuspect);
}

TEST(XidPolicy, DisableAndEnable) {
  struct Case {
    const char* disable;
    const char* enable;
    std::set<uint64_t> fatal;
    std::set<uint64_t> ignored;
  };
  const std::vector<Case> cases = {
      {"", "", {48, 79, 109}, {13, 31}}, {"48, 79,junk,-3", "", {95}, {48, 79, 13}},
      {"all", "", {}, {79, 13, 94}},     {"XIDS", "", {}, {79, 13}},
      {"", "13", {13, 79}, {31}},        {"all", "79", {79}, {48, 13}},
      {"48", "48", {48}, {13}},          {"all", "ALL", {13, 79, 94}, {}},
      {"79", "xids", {13, 79}, {}},
  };
  for (const auto& one : cases) {
    const auto policy = MakeXidPolicy({}, one.disable, one.enable);
    for (const auto xid : one.fatal) {
      EXPECT_EQ(policy.VerdictOf(xid), XidVerdict::kUnhealthy)
          << one.disable << "/" << one.enable << " " << xid;
    }
    for (const auto xid : one.ignored) {
      EXPECT_EQ(policy.VerdictOf(xid), XidVerdict::kIgnore)
          << one.disable << "/" << one.enable << " " << xid;
    }
  }
}

TEST(XidPolicy, TheVariablesStandAboveTheConfiguration) {
  const policy::XidRules rules{.ignore = {48}, .suspect = {79}, .unhealthy = {31}};
  const auto policy = MakeXidPolicy(rules, "31", "48");
  EXPECT_EQ(policy.VerdictOf(48), XidVerdict::kUnhealthy);
  EXPECT_EQ(policy.VerdictOf(79), XidVerdict::kSuspect);
  EXPECT_EQ(policy.VerdictOf(31), XidVerdict::kIgnore);
}

}  // namespace
}  // namespace gantry::gpu
