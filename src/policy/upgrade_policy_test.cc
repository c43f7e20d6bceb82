// SPDX-License-Identifier: Apache-2.0

#include "policy/upgrade_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/cluster_policy.h"

namespace gantry::policy {
namespace {

using std::chrono::seconds;
using testing::StartsWith;

Result<UpgradePolicy> Read(Json upgrade) {
  const Json driver = {{"upgradePolicy", std::move(upgrade)}};
  auto policy = Parse({{"spec", {{"driver", driver}}}});
  if (!policy.has_value()) {
    return std::unexpected(std::move(policy).error());
  }
  return policy->driver_options.upgrade;
}

TEST(UpgradePolicy, AbsentMeansNvidiasDefaultsAndNoUpgrades) {
  for (const Json& absent : {Json(), Json::object()}) {
    const auto policy = Read(absent);
    ASSERT_TRUE(policy.has_value());
    EXPECT_FALSE(policy->automatic);
    EXPECT_EQ(policy->max_parallel, 1);
    EXPECT_EQ(policy->max_unavailable, (NodeShare{25, true}));
    EXPECT_EQ(policy->jobs_timeout, seconds(0));
    EXPECT_EQ(policy->pod_deletion, (PodRemovalSpec{false, false, seconds(300)}));
    EXPECT_EQ(policy->drain_spec, (PodRemovalSpec{false, false, seconds(300)}));
    EXPECT_FALSE(policy->drain);
  }
}

TEST(UpgradePolicy, ReadsWhatIsWritten) {
  const auto policy = Read(Json::parse(R"({
      "autoUpgrade": true, "maxParallelUpgrades": 0, "maxUnavailable": 2,
      "waitForCompletion": {"podSelector": "app=job", "timeoutSeconds": 60},
      "podDeletion": {"force": true, "deleteEmptyDir": true, "timeoutSeconds": 0},
      "drain": {"enable": true, "force": true, "deleteEmptyDir": true, "timeoutSeconds": 10,
                "podSelector": "a=b"}})"));
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_EQ(*policy, (UpgradePolicy{.automatic = true,
                                    .max_parallel = 0,
                                    .max_unavailable = {2, false},
                                    .jobs_selector = "app=job",
                                    .jobs_timeout = seconds(60),
                                    .pod_deletion = {true, true, seconds(0)},
                                    .drain = true,
                                    .drain_spec = {true, true, seconds(10)},
                                    .drain_selector = "a=b"}));
}

TEST(UpgradePolicy, SharesAreRoundedUpAndNeverMoreThanAll) {
  const auto of = [](const Json& share, long long nodes) {
    return Read({{"maxUnavailable", share}})->max_unavailable.Of(nodes);
  };
  EXPECT_EQ(of("25%", 4), 1);
  EXPECT_EQ(of("25%", 5), 2);
  EXPECT_EQ(of("1%", 1), 1);
  EXPECT_EQ(of("0%", 9), 0);
  EXPECT_EQ(of("300%", 9), 9);
  EXPECT_EQ(of(3, 9), 3);
  EXPECT_EQ(of("3", 9), 3);
  EXPECT_EQ(of(30, 9), 9);
  EXPECT_EQ(of(0, 9), 0);
  EXPECT_EQ(of("", 8), 2) << "an empty text is no word";
}

TEST(UpgradePolicy, AMistakeNamesItsField) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"autoUpgrade": "yes"})", "autoUpgrade: must be true or false"},
      {R"({"maxParallelUpgrades": -1})", "maxParallelUpgrades: must not be negative"},
      {R"({"maxParallelUpgrades": "2"})", "maxParallelUpgrades: must be a whole number"},
      {R"({"maxUnavailable": -2})", "maxUnavailable: must not be negative"},
      {R"({"maxUnavailable": true})", "maxUnavailable: must be a whole number"},
      {R"({"maxUnavailable": "half"})",
       "maxUnavailable: \"half\" is neither a number nor a percentage"},
      {R"({"maxUnavailable": "-5%"})",
       "maxUnavailable: \"-5%\" is neither a number nor a percentage"},
      {R"({"maxUnavailable": "%"})", "maxUnavailable: \"%\" is neither a number nor a percentage"},
      {R"({"waitForCompletion": {"timeoutSeconds": -1}})",
       "waitForCompletion.timeoutSeconds: must not be negative"},
      {R"({"waitForCompletion": {"podSelector": 1}})",
       "waitForCompletion.podSelector: must be a string"},
      {R"({"podDeletion": 5})", "podDeletion: must be an object"},
      {R"({"podDeletion": {"force": 1}})", "podDeletion.force: must be true or false"},
      {R"({"drain": {"timeoutSeconds": "5"}})", "drain.timeoutSeconds: must be a whole number"},
      {R"({"drain": {"enable": 1}})", "drain.enable: must be true or false"},
  };
  for (const auto& [upgrade, message] : cases) {
    const auto policy = Read(Json::parse(upgrade));
    ASSERT_FALSE(policy.has_value()) << upgrade;
    EXPECT_EQ(policy.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(policy.error().message,
                StartsWith(std::string("spec.driver.upgradePolicy.") + message));
  }
}

TEST(UpgradePolicy, AnEndlessTimeStaysAPointInTime) {
  const auto policy = Read({{"drain", {{"timeoutSeconds", 9'000'000'000'000'000'000}}}});
  ASSERT_TRUE(policy.has_value());
  EXPECT_LT(policy->drain_spec.timeout, std::chrono::years(11));
}

}  // namespace
}  // namespace gantry::policy
