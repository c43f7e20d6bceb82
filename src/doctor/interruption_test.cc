// SPDX-License-Identifier: Apache-2.0
#include "doctor/interruption.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>

namespace gantry::doctor {
namespace {

TEST(Interruption, EverySignalThatEndsACommandAsksToStop) {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) {
    const Interruption interruption;
    EXPECT_FALSE(interruption.token().stop_requested()) << signal;
    ASSERT_EQ(kill(getpid(), signal), 0);
    std::mutex mutex;
    std::condition_variable_any asked;
    std::unique_lock lock(mutex);
    asked.wait_for(lock, interruption.token(), std::chrono::seconds(10), [] { return false; });
    EXPECT_TRUE(interruption.token().stop_requested()) << signal;
  }
}

TEST(Interruption, ItsEndWaitsForNone) { const Interruption interruption; }

}  // namespace
}  // namespace gantry::doctor
