// SPDX-License-Identifier: Apache-2.0
#include "kube/cache.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/text.h"

namespace gantry::kube {
namespace {

Json Object(const std::string& name, const std::string& value, const std::string& noise = "") {
  return {{"metadata", {{"name", name}}}, {"value", value}, {"noise", noise}};
}

std::string Value(const Json& object) { return TextAt(object, "value"); }

TEST(Cache, TellsOnlyOfProjectionsThatDiffer) {
  std::vector<std::string> told;
  Cache<std::string> cache(Value, [&told](const Key& key, const auto& before, const auto& after) {
    told.push_back(format("{}:{}>{}", key.name, before ? *before : "", after ? *after : ""));
  });
  cache.Upsert(Object("a", "1"));
  cache.Upsert(Object("a", "1", "heartbeat"));
  cache.Upsert(Object("a", "2"));
  cache.Remove({"", "a"});
  cache.Remove({"", "a"});
  EXPECT_THAT(told, testing::ElementsAre("a:>1", "a:1>2", "a:2>"));
  EXPECT_EQ(cache.size(), 0U);
}

TEST(Cache, WhatWasReadStaysAsItWas) {
  Cache<std::string> cache(Value);
  cache.Upsert(Object("a", "1"));
  const auto read = cache.Get({"", "a"});
  const auto all = cache.Snapshot();
  cache.Upsert(Object("a", "2"));
  EXPECT_EQ(*read, "1");
  EXPECT_EQ(*all.front().second, "1");
  EXPECT_EQ(*cache.Get({"", "a"}), "2");
  EXPECT_EQ(cache.Get({"", "b"}), nullptr);
}

TEST(Cache, SyncedIsToldOnceAndWaitedFor) {
  int told = 0;
  Cache<std::string> cache(Value, [](const Key&, const auto&, const auto&) {}, [&told] { ++told; });
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(cache.WaitSynced(stop.get_token()));
  std::jthread later([&cache] { cache.Synced(); });
  EXPECT_TRUE(cache.WaitSynced({}));
  later.join();
  EXPECT_TRUE(cache.synced());
  EXPECT_EQ(told, 1);
}

TEST(Cache, ReadersAndTheWatchDoNotDisturbEachOther) {
  Cache<std::string> cache(Value);
  cache.Upsert(Object("3", "first"));
  std::jthread reader([&cache](const std::stop_token& stop) {
    size_t length = 0;
    do {
      cache.ForEach([&length](const Key&, const std::string& value) { length += value.size(); });
      if (const auto one = cache.Get({"", "3"})) {
        length += one->size();
      }
      length += cache.Snapshot().size();
    } while (!stop.stop_requested());
    EXPECT_GT(length, 0U);
  });
  for (int i = 0; i < 2000; ++i) {
    cache.Upsert(Object(std::to_string(i % 10), std::to_string(i)));
    if (i % 7 == 0) {
      cache.Remove({"", std::to_string(i % 3)});
    }
  }
}

}  // namespace
}  // namespace gantry::kube
