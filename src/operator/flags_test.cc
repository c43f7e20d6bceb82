// SPDX-License-Identifier: Apache-2.0

#include "operator/flags.h"

#include <gtest/gtest.h>

#include <vector>

namespace gantry::gpu_operator {
namespace {

std::expected<Flags, int> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "gpu-operator");
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  return ParseFlags(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Flags, TheRenewDeadlineIsGosDuration) {
  const auto seconds = [](const char* text) {
    const auto flags = Parse({std::string("--leader-lease-renew-deadline=") + text});
    return flags.has_value() ? std::pair(flags->renew_deadline, flags->lease_duration)
                             : std::pair<std::chrono::milliseconds, std::chrono::milliseconds>();
  };
  using std::chrono::milliseconds;
  EXPECT_EQ(seconds("0"), std::pair(milliseconds(10'000), milliseconds(15'000)));
  EXPECT_EQ(seconds("1m30s"), std::pair(milliseconds(90'000), milliseconds(95'000)));
  EXPECT_EQ(seconds("1.5m"), std::pair(milliseconds(90'000), milliseconds(95'000)));
  EXPECT_EQ(seconds("2500000us"), std::pair(milliseconds(2'500), milliseconds(7'500)));
  for (const std::string text : {"soon", "-5s", "5", "infinite"}) {
    const auto flags = Parse({"--leader-lease-renew-deadline=" + text});
    ASSERT_FALSE(flags.has_value()) << text;
    EXPECT_EQ(flags.error(), 2) << text;
  }
}

TEST(Flags, AMistakeEndsItAsGosFlagsDo) {
  EXPECT_EQ(Parse({"--no-such-flag"}).error(), 2);
  EXPECT_EQ(Parse({"--kubeconfig"}).error(), 2);
  EXPECT_EQ(Parse({"--help"}).error(), 0);
}

TEST(Flags, TheLogLevelIsZaps) {
  EXPECT_EQ(Parse({"--zap-log-level=ERROR"})->level, log::Level::kError);
  EXPECT_EQ(Parse({"--zap-log-level=1"})->level, log::Level::kDebug);
  EXPECT_EQ(Parse({"--zap-devel"})->level, log::Level::kDebug);
  EXPECT_EQ(Parse({"--zap-log-level=loud"}).error(), 2);
}

}  // namespace
}  // namespace gantry::gpu_operator
