// SPDX-License-Identifier: Apache-2.0
#include "kube/controller.h"

#include <gtest/gtest.h>

#include <atomic>

namespace gantry::kube {
namespace {

using std::chrono::milliseconds;

constexpr Backoff kQuick{.base = milliseconds(1), .limit = milliseconds(2)};

TEST(Controller, AFailedReconcileIsTriedAgainUntilItIsDone) {
  std::atomic<int> calls = 0;
  std::atomic<bool> done = false;
  Controller controller(
      "test",
      [&](const std::string& key) -> Outcome {
        EXPECT_EQ(key, "key");
        if (++calls < 4) {
          return Error{ErrorKind::kUnavailable, "not yet"};
        }
        done = true;
        done.notify_all();
        return Done{};
      },
      2, kQuick);
  controller.Start();
  controller.Enqueue("key");
  done.wait(false);
  controller.Stop();
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(controller.waiting(), 0U);
}

TEST(Controller, ARetryThatWasAskedForComes) {
  std::atomic<int> calls = 0;
  Controller controller("test", [&](const std::string&) -> Outcome {
    ++calls;
    calls.notify_all();
    return RetryAfter{milliseconds(1)};
  });
  controller.Start();
  controller.Enqueue("key");
  for (int seen = 0; seen < 3; seen = calls) {
    calls.wait(seen);
  }
  controller.Stop();
  EXPECT_EQ(controller.waiting(), 1U);
}

TEST(Controller, AnInvalidInputIsNotTriedAgain) {
  std::atomic<int> calls = 0;
  Controller controller(
      "test",
      [&](const std::string&) -> Outcome {
        ++calls;
        calls.notify_all();
        return Error{ErrorKind::kInvalid, "spec.x: wrong"};
      },
      1, kQuick);
  controller.Start();
  controller.Enqueue("key");
  calls.wait(0);
  controller.Stop();
  EXPECT_EQ(controller.waiting(), 0U);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace gantry::kube
