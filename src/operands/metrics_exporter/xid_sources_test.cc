// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/xid_sources.h"

#include <gtest/gtest.h>

namespace gantry::metrics_exporter {
namespace {

using std::chrono::milliseconds;

class Sources : public testing::Test {
 protected:
  static SteadyTime At(int millisecond) { return SteadyTime() + milliseconds(millisecond); }
  bool Driver(int millisecond, uint64_t xid) {
    return sources_.FromDriver({.uuid = "GPU-0", .xid = xid}, At(millisecond));
  }
  bool Log(int millisecond, uint64_t xid, const char* uuid = "GPU-0") {
    return sources_.FromLog({.uuid = uuid, .xid = xid}, At(millisecond));
  }
  size_t Due(int millisecond) { return sources_.Due(At(millisecond)).size(); }

  XidSources sources_{{79, 119}};
};

TEST_F(Sources, BothNameItAndItCountsOnce) {
  EXPECT_TRUE(Driver(0, 43));
  EXPECT_FALSE(Log(10, 43));
  EXPECT_EQ(Due(5000), 0U);
  // The log first.
  EXPECT_FALSE(Log(10'000, 31));
  EXPECT_TRUE(Driver(10'100, 31));
  EXPECT_EQ(Due(15'000), 0U);
}

TEST_F(Sources, OneOfTheLogAloneCountsAfterAWhile) {
  EXPECT_FALSE(Log(0, 62));
  EXPECT_EQ(sources_.due_at(), At(2000));
  EXPECT_EQ(Due(1999), 0U);
  EXPECT_EQ(Due(2000), 1U);
  EXPECT_EQ(sources_.due_at(), std::nullopt);
  EXPECT_FALSE(Driver(3000, 62)) << "NVML was late";
  EXPECT_TRUE(Driver(3001, 62)) << "another one";
}

TEST_F(Sources, SomeOfTheLogCountAtOnce) {
  EXPECT_TRUE(Log(0, 79));
  EXPECT_FALSE(Driver(100, 79));
  EXPECT_TRUE(Log(10'000, 119));
  EXPECT_TRUE(Driver(15'001, 119)) << "too late to be the same";
}

TEST_F(Sources, OthersAreOthers) {
  EXPECT_TRUE(Driver(0, 43));
  EXPECT_FALSE(Log(0, 43, "GPU-1"));
  EXPECT_FALSE(Log(0, 44));
  EXPECT_EQ(Due(2000), 2U);
  // Twice the same, of which NVML tells one.
  EXPECT_TRUE(Driver(9000, 13));
  EXPECT_FALSE(Log(9000, 13));
  EXPECT_FALSE(Log(9001, 13));
  EXPECT_EQ(Due(11'001), 1U);
}

}  // namespace
}  // namespace gantry::metrics_exporter
