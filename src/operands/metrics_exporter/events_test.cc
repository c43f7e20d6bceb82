// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "3 xid=43 window_size_in_ms=10000", without values of 0 that have a label clock_event.
std::vector<std::string> Texts(const std::vector<Point>& points) {
  std::vector<std::string> texts;
  for (const Point& point : points) {
    std::string text = format("{}", point.value);
    for (const auto* labels : {&point.labels, &point.attributes}) {
      for (const auto& [name, value] : *labels) {
        text += format(" {}={}", name, value);
      }
    }
    if (point.value != 0 || !text.contains("clock_event")) {
      texts.push_back(text);
    }
  }
  return texts;
}

class Events : public testing::Test {
 protected:
  std::vector<std::string> At(From what, int second, std::optional<unsigned> instance = {}) {
    return Texts(log_.Points(what, "GPU-0", instance, SteadyTime() + seconds(second)));
  }
  void Xid(int second, uint64_t number, std::optional<unsigned> instance = {}) {
    log_.AddXid("GPU-0", number, instance, SteadyTime() + seconds(second));
  }
  void Clocks(int second, uint64_t reasons) {
    log_.Look("GPU-0", {.clock_reasons = reasons}, SteadyTime() + seconds(second));
  }
  EventLog log_{{.xids = seconds(10), .clocks = seconds(10)}};
};

TEST_F(Events, AResetClearsTheLastXidAndNoTotal) {
  const auto look = [this](int second, double energy) {
    return log_.Look("GPU-0", {.marks = ResetMarks{.energy = energy}, .health = HealthReadings{}},
                     SteadyTime() + seconds(second));
  };
  EXPECT_FALSE(look(0, 100));
  Xid(1, 79);
  EXPECT_TRUE(log_.HasXid("GPU-0"));
  EXPECT_FALSE(look(2, 100));
  EXPECT_THAT(At(From::kXid, 2), ElementsAre("79 err_code=79 err_msg=GPU has fallen off the bus"));
  EXPECT_THAT(At(From::kHealth, 2),
              Contains("20 health_error_code=DCGM_FR_FALLEN_OFF_BUS health_watch=ALL"));
  EXPECT_TRUE(look(3, 5));
  EXPECT_FALSE(log_.HasXid("GPU-0"));
  EXPECT_THAT(At(From::kXid, 3), ElementsAre("0 err_code=0 err_msg=No Error"));
  EXPECT_THAT(At(From::kXidTotal, 3), ElementsAre("1 xid=79"));
  const auto health = At(From::kHealth, 3);
  EXPECT_THAT(health, SizeIs(11));
  EXPECT_THAT(health, Each(HasSubstr("0 health_error_code=DCGM_FR_OK")));
}

TEST_F(Events, PeersHaveTheirStatusAsText) {
  log_.Look("GPU-0", {.peers = {{.gpu = 1, .status = 0}, {.gpu = 2, .status = 3}}}, SteadyTime());
  EXPECT_THAT(At(From::kPeers, 0), ElementsAre("0 link_status=OK peer_gpu=1",
                                               "3 link_status=TopologyNotSupported peer_gpu=2"));
}

TEST_F(Events, WithoutAnXidThereIsOneValueOf0) {
  EXPECT_THAT(At(From::kXid, 0), ElementsAre("0 err_code=0 err_msg=No Error"));
  EXPECT_THAT(At(From::kXidCount, 0), ElementsAre("0 window_size_in_ms=10000"));
  EXPECT_THAT(At(From::kXidTotal, 0), IsEmpty());
  log_.AddXid("GPU-1", 79, {}, SteadyTime());
  EXPECT_THAT(At(From::kXid, 0), ElementsAre("0 err_code=0 err_msg=No Error")) << "another GPU's";
}

TEST_F(Events, XidsAreCountedInTheWindowAndSinceTheStart) {
  Xid(1, 43);
  Xid(5, 43);
  Xid(6, 999);
  EXPECT_THAT(At(From::kXid, 7), ElementsAre("999 err_code=999 err_msg=Unknown Error"));
  EXPECT_THAT(At(From::kXidCount, 7),
              ElementsAre("2 window_size_in_ms=10000 xid=43", "1 window_size_in_ms=10000 xid=999"));
  EXPECT_THAT(At(From::kXidCount, 11),
              ElementsAre("1 window_size_in_ms=10000 xid=43", "1 window_size_in_ms=10000 xid=999"));
  EXPECT_THAT(At(From::kXidCount, 16), ElementsAre("0 window_size_in_ms=10000"));
  EXPECT_THAT(At(From::kXidTotal, 16), ElementsAre("2 xid=43", "1 xid=999"));
  EXPECT_THAT(At(From::kXid, 16), ElementsAre("999 err_code=999 err_msg=Unknown Error"));
}

TEST_F(Events, AnXidOfAnInstanceIsNoneOfItsNeighbour) {
  Xid(1, 13, 2);
  EXPECT_THAT(At(From::kXid, 2, 2),
              ElementsAre("13 err_code=13 err_msg=Graphics Engine Exception"));
  EXPECT_THAT(At(From::kXid, 2), ElementsAre("13 err_code=13 err_msg=Graphics Engine Exception"));
  Xid(3, 79);
  EXPECT_THAT(At(From::kXid, 4, 2),
              ElementsAre("79 err_code=79 err_msg=GPU has fallen off the bus"));
  EXPECT_THAT(At(From::kXid, 4, 3),
              ElementsAre("79 err_code=79 err_msg=GPU has fallen off the bus"));
}

TEST_F(Events, OneInstancesXidLeavesAnotherAt0) {
  Xid(1, 13, 2);
  EXPECT_THAT(At(From::kXid, 2, 3), ElementsAre("0 err_code=0 err_msg=No Error"));
}

TEST_F(Events, ClocksAreCountedByLookAndByEdge) {
  Clocks(1, 0x4);
  Clocks(2, 0x4 | 0x40);
  Clocks(3, 0);
  Clocks(4, 0x4);
  EXPECT_THAT(At(From::kClockCount, 5),
              ElementsAre("3 clock_event=power_cap window_size_in_ms=10000",
                          "1 clock_event=hw_thermal window_size_in_ms=10000"));
  EXPECT_THAT(At(From::kClockTotal, 5),
              ElementsAre("2 clock_event=power_cap", "1 clock_event=hw_thermal"));
  EXPECT_THAT(At(From::kClockCount, 12),
              ElementsAre("1 clock_event=power_cap window_size_in_ms=10000"));
  EXPECT_EQ(log_.Points(From::kClockCount, "GPU-9", {}, SteadyTime()).size(), 9U);
}

}  // namespace
}  // namespace gantry::metrics_exporter
