// SPDX-License-Identifier: Apache-2.0
#include "base/process_metrics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <chrono>
#include <cstdlib>

#include "base/paths.h"
#include "base/text.h"

namespace gantry {
namespace {

// The value of a metric, or -1.
double Value(const std::string& text, std::string_view name) {
  const std::string line = format("\n{} ", name);
  const size_t at = text.find(line);
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + line.size(), nullptr);
}

TEST(ProcessMetrics, SayWhatThisProcessUses) {
  const std::string text = FormatProcessMetrics();
  EXPECT_GT(Value(text, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(Value(text, "process_virtual_memory_bytes"),
            Value(text, "process_resident_memory_bytes"));
  EXPECT_GE(Value(text, "process_cpu_seconds_total"), 0);
  EXPECT_GT(Value(text, "process_max_fds"), Value(text, "process_open_fds"));
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_GT(Value(text, "process_start_time_seconds"), now - 3600);
  EXPECT_LT(Value(text, "process_start_time_seconds"), now + 2);
}

TEST(ProcessMetrics, AnOpenFileCounts) {
  const double before = Value(FormatProcessMetrics(), "process_open_fds");
  const Fd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(Value(FormatProcessMetrics(), "process_open_fds"), before + 1);
}

TEST(ProcessMetrics, ANameWithBracketsAndSpacesShiftsNothing) {
  char name[16] = {};
  ASSERT_EQ(prctl(PR_GET_NAME, name), 0);
  ASSERT_EQ(prctl(PR_SET_NAME, "a) b (c"), 0);
  const std::string text = FormatProcessMetrics();
  ASSERT_EQ(prctl(PR_SET_NAME, name), 0);
  EXPECT_GT(Value(text, "process_resident_memory_bytes"), 1 << 20);
}

}  // namespace
}  // namespace gantry
