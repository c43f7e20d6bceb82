// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

double Value(const EventLog& log, From what, std::optional<unsigned> instance = {}) {
  return log.Points(what, "GPU-0", instance, SteadyTime()).at(0).value;
}

class State : public testing::Test {
 protected:
  EventLog Read() {
    EventLog log({});
    StateFile(folder_).Read(log);
    return log;
  }
  const TempFolder temporary_;
  const std::string folder_ = temporary_.path() + "/a/b";
};

TEST_F(State, OutlivesTheProcess) {
  EventLog log({});
  log.Look("GPU-0", {.clock_reasons = 0x40, .marks = ResetMarks{.energy = 7}}, SteadyTime());
  log.AddXid("GPU-0", 79, {}, SteadyTime());
  log.AddXid("GPU-0", 43, 2, SteadyTime());
  StateFile(folder_).Write(log);
  EventLog next = Read();
  EXPECT_EQ(Value(next, From::kXid), 43);
  EXPECT_EQ(Value(next, From::kXid, 1), 79);
  EXPECT_EQ(Value(next, From::kXid, 2), 43);
  EXPECT_THAT(next.Points(From::kXidTotal, "GPU-0", {}, SteadyTime()), SizeIs(2));
  double clocks = 0;
  for (const Point& point : next.Points(From::kClockTotal, "GPU-0", {}, SteadyTime())) {
    clocks += point.value;
  }
  EXPECT_EQ(clocks, 1);
  next.Look("GPU-0", {.marks = ResetMarks{.energy = 8}, .health = HealthReadings{}}, SteadyTime());
  EXPECT_EQ(next.Points(From::kHealth, "GPU-0", {}, SteadyTime()).back().value, 20);
  // It was reset while no exporter ran.
  EventLog reset = Read();
  EXPECT_TRUE(reset.Look("GPU-0", {.marks = ResetMarks{.energy = 6}}, SteadyTime()));
  EXPECT_EQ(Value(reset, From::kXid), 0);
}

TEST_F(State, OfAnotherBootHasTotalsAlone) {
  EventLog log({});
  log.AddXid("GPU-0", 79, {}, SteadyTime());
  EventLog next({});
  ASSERT_TRUE(next.Restore(log.Save("one"), "two").has_value());
  EXPECT_EQ(Value(next, From::kXid), 0);
  EXPECT_EQ(Value(next, From::kXidTotal), 1);
}

TEST_F(State, IsWrittenWhenSomethingHappened) {
  EventLog log({});
  StateFile file(folder_);
  file.Write(log);
  EXPECT_FALSE(std::filesystem::exists(folder_));
  log.Look("GPU-0", {.clock_reasons = 0}, SteadyTime());
  file.Write(log);
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "a look is no event";
  log.AddXid("GPU-0", 79, {}, SteadyTime());
  file.Write(log);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/events.json"));
  std::filesystem::remove(folder_ + "/events.json");
  file.Write(log);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/events.json"));
}

TEST_F(State, ThatCanNotBeReadIsNone) {
  std::filesystem::create_directories(folder_);
  for (const char* text : {"", "{", "[]", R"({"gpus":[]})", R"({"gpus":{"GPU-0":7}})",
                           R"({"gpus":{"GPU-0":{"xidTotals":{"x":1,"79":"y","-1":2}}}})"}) {
    std::ofstream(folder_ + "/events.json") << text;
    EXPECT_THAT(Read().Points(From::kXidTotal, "GPU-0", {}, SteadyTime()), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace gantry::metrics_exporter
