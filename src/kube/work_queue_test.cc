// SPDX-License-Identifier: Apache-2.0
#include "kube/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace gantry::kube {
namespace {

using std::chrono::milliseconds;

constexpr Backoff kBackoff{.base = milliseconds(100), .limit = milliseconds(1000)};

TEST(WorkQueue, AKeyWaitsOnceInTheOrderOfItsFirstAdd) {
  FakeClock clock;
  WorkQueue queue(kBackoff, clock);
  for (const char* key : {"a", "b", "a", "a"}) {
    queue.Add(key);
  }
  EXPECT_EQ(queue.TryTake(), "a");
  EXPECT_EQ(queue.TryTake(), "b");
  EXPECT_EQ(queue.TryTake(), std::nullopt);
}

TEST(WorkQueue, AKeyInWorkIsGivenToNobodyElseAndIsRemembered) {
  FakeClock clock;
  WorkQueue queue(kBackoff, clock);
  queue.Add("a");
  EXPECT_EQ(queue.TryTake(), "a");
  queue.Add("a");
  EXPECT_EQ(queue.TryTake(), std::nullopt);
  queue.Done("a");
  EXPECT_EQ(queue.TryTake(), "a");
  queue.Done("a");
  EXPECT_EQ(queue.TryTake(), std::nullopt);
  EXPECT_EQ(queue.size(), 0U);
}

TEST(WorkQueue, WhatIsDueLaterComesThenAndSoonerWhenAdded) {
  FakeClock clock;
  WorkQueue queue(kBackoff, clock);
  queue.AddAfter("a", milliseconds(500));
  queue.AddAfter("a", milliseconds(900));  // the earlier time stays
  queue.AddAfter("b", milliseconds(900));
  EXPECT_EQ(queue.TryTake(), std::nullopt);
  clock.Advance(milliseconds(500));
  EXPECT_EQ(queue.TryTake(), "a");
  queue.Done("a");
  queue.Add("b");
  EXPECT_EQ(queue.TryTake(), "b");
  queue.Done("b");
  clock.Advance(milliseconds(10'000));
  EXPECT_EQ(queue.TryTake(), std::nullopt);
}

TEST(WorkQueue, AFailedKeyComesBackLaterAndLaterUntilItSucceeds) {
  FakeClock clock;
  WorkQueue queue(kBackoff, clock);
  queue.Add("a");
  milliseconds before{0};
  for (int failures = 1; failures <= 3; ++failures) {
    ASSERT_EQ(queue.TryTake(), "a");
    const milliseconds delay = queue.Failed("a", ErrorKind::kUnavailable).value();
    EXPECT_GE(delay, before);
    EXPECT_EQ(queue.Failures("a"), failures);
    EXPECT_EQ(queue.TryTake(), std::nullopt);
    before = delay;
    clock.Advance(delay);
  }
  ASSERT_EQ(queue.TryTake(), "a");
  queue.Done("a");
  EXPECT_EQ(queue.Failures("a"), 0);
  EXPECT_EQ(queue.size(), 0U);
}

TEST(WorkQueue, AnAddMeanwhileBeatsTheDelayOfAFailure) {
  FakeClock clock;
  WorkQueue queue(kBackoff, clock);
  queue.Add("a");
  ASSERT_EQ(queue.TryTake(), "a");
  queue.Add("a");
  queue.Failed("a", ErrorKind::kUnavailable);
  EXPECT_EQ(queue.TryTake(), "a");
  queue.Failed("a", ErrorKind::kInvalid);  // waits for the next Add
  clock.Advance(std::chrono::hours(1));
  EXPECT_EQ(queue.TryTake(), std::nullopt);
  queue.Add("a");
  EXPECT_EQ(queue.TryTake(), "a");
}

TEST(WorkQueue, AKeyThatBecomesDueWhileInWorkComesAfterwards) {
  FakeClock clock;
  WorkQueue queue(kBackoff, clock);
  queue.Add("a");
  ASSERT_EQ(queue.TryTake(), "a");
  queue.AddAfter("a", milliseconds(10));
  clock.Advance(milliseconds(10));
  EXPECT_EQ(queue.TryTake(), std::nullopt);
  queue.Done("a");
  EXPECT_EQ(queue.TryTake(), "a");
}

TEST(WorkQueue, ManyWorkersNeverShareAKeyAndLoseNone) {
  WorkQueue queue({.base = milliseconds(1), .limit = milliseconds(2)});
  constexpr int kKeys = 20;
  std::vector<std::atomic<int>> working(kKeys);
  std::vector<std::atomic<int>> seen(kKeys);
  std::atomic<bool> shared = false;
  std::atomic<int> rounds = 0;
  {
    std::vector<std::jthread> workers;
    for (int w = 0; w < 4; ++w) {
      workers.emplace_back([&](const std::stop_token& stop) {
        while (const std::optional<std::string> key = queue.Take(stop)) {
          const auto index = static_cast<size_t>(std::stoi(*key));
          shared = shared || working[index].fetch_add(1) > 0;
          ++seen[index];
          --working[index];
          if (rounds++ % 3 == 0) {
            queue.Failed(*key, ErrorKind::kUnavailable);
          } else {
            queue.Done(*key);
          }
        }
      });
    }
    for (int i = 0; i < 2000; ++i) {
      queue.Add(std::to_string(i % kKeys));
    }
    while (queue.size() > 0) {
      std::this_thread::yield();
    }
  }
  EXPECT_FALSE(shared);
  for (const std::atomic<int>& count : seen) {
    EXPECT_GT(count, 0);
  }
}

TEST(WorkQueue, ASleepingWorkerIsWokenByAnAddAndByAStop) {
  WorkQueue queue;
  std::atomic<bool> got = false;
  std::jthread worker([&](const std::stop_token& stop) {
    while (const std::optional<std::string> key = queue.Take(stop)) {
      queue.Done(*key);
      got = true;
      got.notify_all();
    }
  });
  queue.AddAfter("late", milliseconds(20));
  got.wait(false);
  worker.request_stop();
  worker.join();
}

}  // namespace
}  // namespace gantry::kube
