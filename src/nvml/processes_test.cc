// SPDX-License-Identifier: Apache-2.0
// Reading a GPU's processes from a driver that answers as the test says.
#include "nvml/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "nvml/symbols.h"

namespace gantry::nvml {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// What the driver's calls put into their arrays.
template <typename Item>
nvmlReturn_t Put(const std::vector<Item>& items, unsigned* count, Item* out) {
  const unsigned room = out == nullptr ? 0 : *count;
  *count = static_cast<unsigned>(items.size());
  if (items.size() > room) {
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  std::ranges::copy(items, out);
  return NVML_SUCCESS;
}

Symbols SomeDriver() {
  Symbols symbols;
  symbols.nvmlDeviceGetComputeRunningProcesses_v2 = [](nvmlDevice_t, unsigned* count,
                                                       nvmlProcessInfo_v2_t* out) {
    return Put<nvmlProcessInfo_t>({{10, 100, 0, 0}, {11, ~0ULL, 0, 0}}, count, out);
  };
  symbols.nvmlDeviceGetGraphicsRunningProcesses_v3 = [](nvmlDevice_t, unsigned* count,
                                                        nvmlProcessInfo_t* out) {
    return Put<nvmlProcessInfo_t>({{10, 120, 0, 0}}, count, out);
  };
  symbols.nvmlDeviceGetProcessUtilization = [](nvmlDevice_t, nvmlProcessUtilizationSample_t* out,
                                               unsigned* count, unsigned long long) {
    return Put<nvmlProcessUtilizationSample_t>(
        {{10, 50, 60, 0, 0, 0}, {10, 60, 20, 0, 0, 0}, {11, 60, 30, 0, 0, 0}, {0, 0, 99, 0, 0, 0}},
        count, out);
  };
  return symbols;
}

TEST(Processes, OfAllListsOnceEach) {
  const Symbols symbols = SomeDriver();
  const auto uses = ProcessesOf(symbols, nullptr, 40);
  ASSERT_TRUE(uses.has_value());
  EXPECT_THAT(uses->by_pid,
              ElementsAre(Pair(10U, ProcessUse{120, 40}), Pair(11U, ProcessUse{0, 15})));
  EXPECT_TRUE(uses->timed);
  EXPECT_EQ(uses->asked, 60U);
}

TEST(Processes, OfADriverWithoutTimes) {
  Symbols symbols = SomeDriver();
  symbols.nvmlDeviceGetProcessUtilization = nullptr;
  const auto uses = ProcessesOf(symbols, nullptr, 40);
  ASSERT_TRUE(uses.has_value());
  EXPECT_FALSE(uses->timed);
  EXPECT_EQ(uses->asked, 40U);
  symbols.nvmlDeviceGetComputeRunningProcesses_v2 = nullptr;
  EXPECT_EQ(ProcessesOf(symbols, nullptr, 0).error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace gantry::nvml
