// SPDX-License-Identifier: Apache-2.0
#include "kube/event_series.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class EventSeriesTest : public testing::Test {
 protected:
  void Observe(const std::string& name, const std::string& reason, const std::string& message) {
    const Json object = {{"apiVersion", "v1"},
                         {"kind", "Pod"},
                         {"metadata", {{"name", name}, {"namespace", "s"}, {"uid", "u" + name}}}};
    series_.Observe(object, EventType::kWarning, reason, message, clock_.Wall());
  }
  int WritesNow() {
    int writes = 0;
    while (series_.Next(clock_.Now()).has_value()) {
      ++writes;
    }
    return writes;
  }

  FakeClock clock_;
  EventSeries series_{"component", "instance"};
};

TEST_F(EventSeriesTest, RepeatsRaiseTheCountOfTheEventThatIsThere) {
  Observe("a", "Bad", "one");
  const EventWrite first = series_.Next(clock_.Now()).value();
  EXPECT_TRUE(first.create);
  EXPECT_EQ(first.body.at("count"), 1);
  EXPECT_EQ(first.body.at("type"), "Warning");
  EXPECT_EQ(TextAt(first.body, "involvedObject.uid"), "ua");
  EXPECT_EQ(TextAt(first.body, "metadata.namespace"), "s");

  Observe("a", "Bad", "two");
  Observe("a", "Bad", "three");
  EXPECT_FALSE(series_.Next(clock_.Now()).has_value());
  EXPECT_EQ(series_.Wait(clock_.Now()), EventSeries::kRepeatPause);
  clock_.Advance(EventSeries::kRepeatPause);
  const EventWrite second = series_.Next(clock_.Now()).value();
  EXPECT_FALSE(second.create);
  EXPECT_EQ(second.name, first.name);
  EXPECT_EQ(second.body.at("count"), 3);
  EXPECT_EQ(second.body.at("message"), "three");
  EXPECT_FALSE(series_.Wait(clock_.Now()).has_value());
}

TEST_F(EventSeriesTest, AnotherObjectOrReasonIsAnotherEvent) {
  Observe("a", "Bad", "x");
  Observe("b", "Bad", "x");
  Observe("a", "Worse", "x");
  EXPECT_EQ(WritesNow(), 3);
}

TEST_F(EventSeriesTest, WritesComeInABurstAndThenOneBySecond) {
  for (int i = 0; i < 60; ++i) {
    Observe(std::to_string(i), "Bad", "x");
  }
  EXPECT_EQ(WritesNow(), EventSeries::kBurst);
  EXPECT_EQ(series_.Wait(clock_.Now()), milliseconds(1000));
  clock_.Advance(seconds(3));
  EXPECT_EQ(WritesNow(), 3);
}

TEST_F(EventSeriesTest, TheSeriesKeptAreBounded) {
  for (size_t i = 0; i < EventSeries::kMaxSeries + 50; ++i) {
    Observe(std::to_string(i), "Bad", "x");
  }
  clock_.Advance(seconds(100'000));
  int writes = 0;
  for (int i = 0; i < 1000; ++i) {
    writes += WritesNow();
    clock_.Advance(seconds(100));
  }
  EXPECT_EQ(writes, static_cast<int>(EventSeries::kMaxSeries));
}

TEST_F(EventSeriesTest, AnEventThatExpiredIsMadeAnew) {
  Observe("a", "Bad", "x");
  const EventWrite first = series_.Next(clock_.Now()).value();
  Observe("a", "Bad", "y");
  clock_.Advance(seconds(3600));
  const EventWrite patch = series_.Next(clock_.Now()).value();
  series_.Failed(patch.series, EventSeries::Failure::kGone);
  const EventWrite anew = series_.Next(clock_.Now()).value();
  EXPECT_TRUE(anew.create);
  EXPECT_NE(anew.name, first.name);
  EXPECT_EQ(anew.body.at("message"), "y");
}

TEST_F(EventSeriesTest, AnEventThatNobodyTookIsTriedAgainUnderItsName) {
  Observe("a", "Bad", "x");
  const EventWrite first = series_.Next(clock_.Now()).value();
  Observe("a", "Bad", "y");
  for (int i = 0; i < 10; ++i) {
    series_.Failed(first.series, EventSeries::Failure::kUnreachable);
    clock_.Advance(seconds(60));
    const EventWrite again = series_.Next(clock_.Now()).value();
    EXPECT_TRUE(again.create);
    EXPECT_EQ(again.name, first.name);
    EXPECT_EQ(again.body.at("count"), 2);
  }
}

TEST_F(EventSeriesTest, AWriteThatIsRefusedIsGivenUp) {
  Observe("a", "Bad", "x");
  int writes = 0;
  for (int i = 0; i < 10; ++i) {
    if (const auto write = series_.Next(clock_.Now())) {
      ++writes;
      series_.Failed(write->series, EventSeries::Failure::kRefused);
    }
    clock_.Advance(seconds(60));
  }
  EXPECT_EQ(writes, 3);
}

TEST_F(EventSeriesTest, LongMessagesAreCutBetweenCharacters) {
  Observe("a", "Bad", std::string(1023, 'x') + "\xc3\xa4 and more");
  const std::string message = TextAt(series_.Next(clock_.Now()).value().body, "message");
  EXPECT_EQ(message, std::string(1023, 'x'));
}

}  // namespace
}  // namespace gantry::kube
