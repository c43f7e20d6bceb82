// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/live_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/gpus.h"

namespace gantry::metrics_exporter {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr milliseconds kAge(100);

TEST(CountersOfIds, AreInTheOrderOfTheIds) {
  const auto counters = CountersOfIds("155,150");
  ASSERT_TRUE(counters.has_value());
  ASSERT_THAT(counters->metrics, SizeIs(2));
  EXPECT_EQ(counters->metrics[0].name, "DCGM_FI_DEV_BOARD_POWER_WATTS");
  EXPECT_EQ(counters->metrics[1].name, "DCGM_FI_DEV_GPU_TEMP_CELSIUS");
}

TEST(CountersOfIds, MistakesAreNamed) {
  struct Row {
    const char* ids;
    const char* said;
  };
  for (const Row& row :
       {Row{"", "0 fields"}, Row{"150,x", "field \"x\""}, Row{"-1", "field \"-1\""},
        Row{"705", "field \"705\""}, Row{"99999999999", "field"}, Row{"1529", "single NVLinks"}}) {
    const auto counters = CountersOfIds(row.ids);
    ASSERT_FALSE(counters.has_value()) << row.ids;
    EXPECT_THAT(counters.error().message, HasSubstr(row.said));
  }
}

class Live : public testing::Test {
 protected:
  Live() { values_.SetGpus(gpu::SetOf(gpu::Gpus(2))); }

  bool IsComplete(const std::string& ids = "150") {
    const auto taken = values_.Take(ids, kAge, now_);
    EXPECT_TRUE(taken.has_value());
    return taken && taken->has_value();
  }

  int looks_ = 0;
  LiveValues values_{[this] { ++looks_; }};
  SteadyTime now_ = RealClock().Now();
};

TEST_F(Live, OneLookServesAllWhoAskMeanwhile) {
  EXPECT_FALSE(IsComplete());
  EXPECT_FALSE(IsComplete());
  EXPECT_EQ(looks_, 1);
}

TEST_F(Live, AGpuThatGaveNoAnswerIsNotWaitedFor) {
  EXPECT_FALSE(IsComplete());
  values_.Ended("GPU-0", false);
  EXPECT_FALSE(IsComplete());
  values_.Ended("GPU-1", false);
  EXPECT_TRUE(IsComplete());
  now_ += seconds(1);
  EXPECT_TRUE(IsComplete()) << "nothing to wait for";
  EXPECT_EQ(looks_, 2) << "but they are looked at";
  values_.Ended("GPU-0", true);
  now_ += seconds(1);
  EXPECT_FALSE(IsComplete());
}

TEST_F(Live, AGpuThatIsGoneIsNotWaitedFor) {
  EXPECT_FALSE(IsComplete());
  values_.SetGpus({});
  now_ += seconds(11);
  EXPECT_TRUE(IsComplete());
}

TEST_F(Live, ALookThatNeverEndsIsBegunAnew) {
  EXPECT_FALSE(IsComplete());
  now_ += seconds(11);
  EXPECT_FALSE(IsComplete());
  EXPECT_EQ(looks_, 2);
}

TEST_F(Live, SetsOfFieldsAreFewAndForgotten) {
  for (const char* ids : {"150", "155", "100", "101"}) {
    EXPECT_FALSE(IsComplete(ids));
  }
  EXPECT_EQ(values_.Take("203", kAge, now_).error().kind, ErrorKind::kUnavailable);
  now_ += seconds(61);
  EXPECT_FALSE(IsComplete("203"));
}

}  // namespace
}  // namespace gantry::metrics_exporter
