// SPDX-License-Identifier: Apache-2.0
#include "operands/gpu_features/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "base/testing/variables.h"
#include "operands/gpu_features/gpu_features.h"

namespace gantry::gpu_features {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<std::optional<Flags>> Parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "gpu-feature-discovery");
  return ParseFlags(static_cast<int>(words.size()), words.data());
}

TEST(Settings, Defaults) {
  const Variables node({{"NODE_NAME", "a"}});
  const Settings settings = Resolve(Parsed({}).value().value(), {}).value();
  EXPECT_EQ(settings.mig_strategy, policy::MigStrategy::kNone);
  EXPECT_TRUE(settings.use_node_feature_api);
  EXPECT_TRUE(settings.timestamp);
  EXPECT_FALSE(settings.oneshot);
  EXPECT_EQ(settings.recheck, std::chrono::seconds(60));
  EXPECT_EQ(settings.machine_type_file, "/sys/class/dmi/id/product_name");
  EXPECT_EQ(DriverRoot(settings, {}), "");
}

TEST(Settings, TheDriverIsWhereAFlagSaysThenDriverReadyThenTheFile) {
  policy::PluginConfig file;
  file.flags.container_driver_root = "/file";
  const std::map<std::string, std::string> ready = {{"DRIVER_ROOT_CTR_PATH", "/driver-root"}};
  const Settings settings = Resolve(Parsed({"--node-name=a"}).value().value(), file).value();
  EXPECT_EQ(DriverRoot(settings, ready), "/driver-root");
  EXPECT_EQ(DriverRoot(settings, {}), "/file");
  const auto flags = Parsed({"--node-name=a", "--driver-root-ctr-path=/flag"}).value().value();
  EXPECT_EQ(DriverRoot(Resolve(flags, file).value(), ready), "/flag");
}

TEST(Settings, FlagBeforeVariableBeforeFileBeforeDefault) {
  policy::PluginConfig file;
  file.flags.mig_strategy = policy::MigStrategy::kMixed;
  file.flags.gfd.no_timestamp = true;
  file.flags.gfd.sleep_interval = std::chrono::nanoseconds::max();
  EXPECT_EQ(Resolve(Parsed({"--node-name=a"}).value().value(), file)->mig_strategy,
            policy::MigStrategy::kMixed);
  EXPECT_FALSE(Resolve(Parsed({"--node-name=a"}).value().value(), file)->timestamp);
  EXPECT_FALSE(Resolve(Parsed({"--node-name=a"}).value().value(), file)->recheck.has_value());
  const Variables variables({{"NODE_NAME", "a"},
                             {"GFD_MIG_STRATEGY", "single"},
                             {"MIG_STRATEGY", "none"},
                             {"GFD_NO_TIMESTAMP", "f"},
                             {"GFD_SLEEP_INTERVAL", "5m"}});
  const Settings settings = Resolve(Parsed({}).value().value(), file).value();
  EXPECT_EQ(settings.mig_strategy, policy::MigStrategy::kSingle);
  EXPECT_TRUE(settings.timestamp);
  EXPECT_EQ(settings.recheck, std::chrono::minutes(5));
  const auto flags = Parsed({"--mig-strategy", "none", "--no-timestamp"}).value().value();
  EXPECT_EQ(Resolve(flags, file)->mig_strategy, policy::MigStrategy::kNone);
  EXPECT_FALSE(Resolve(flags, file)->timestamp);
}

TEST(Settings, ListsAndAliases) {
  const Variables variables({{"WAIT_FOR_VALIDATIONS", "driver-ready, toolkit-ready"},
                             {"CONTAINER_DRIVER_ROOT", "/run/driver"},
                             {"KUBE_API_QPS", "5"}});
  const Flags flags = Parsed({"-use-node-feature-api=false",
                              "--output-file=", "--fallback-strategies", "named, single"})
                          .value()
                          .value();
  EXPECT_THAT(flags.wait_for, ElementsAre("driver-ready", "toolkit-ready"));
  EXPECT_THAT(flags.fallback_strategies, ElementsAre("named", "single"));
  const Settings settings = Resolve(flags, {}).value();
  EXPECT_EQ(DriverRoot(settings, {}), "/run/driver");
  EXPECT_FALSE(settings.use_node_feature_api);
  EXPECT_EQ(settings.output_file, "");
}

TEST(Settings, WhereTheGpusAreAndWhetherTheyMayBeMissing) {
  const auto resolved = [](std::vector<const char*> words) {
    words.push_back("--node-name=a");
    return Resolve(Parsed(std::move(words)).value().value(), {}).value();
  };
  EXPECT_FALSE(resolved({}).vfio);
  EXPECT_TRUE(resolved({}).fail_on_init_error);
  EXPECT_FALSE(resolved({"--device-discovery-strategy=nvml"}).vfio);
  EXPECT_TRUE(resolved({"--device-discovery-strategy=vfio"}).vfio);
  EXPECT_FALSE(resolved({"--fail-on-init-error=false"}).fail_on_init_error);
}

TEST(Settings, WrongValuesNameTheFlag) {
  const auto message = [](std::vector<const char*> words) {
    const auto flags = Parsed(std::move(words));
    if (!flags.has_value()) {
      return flags.error().message;
    }
    const auto settings = Resolve(flags->value(), {});
    return settings.has_value() ? std::string("accepted") : settings.error().message;
  };
  EXPECT_THAT(message({"--node-name=a", "--mig-strategy=tripel"}), HasSubstr("--mig-strategy"));
  EXPECT_THAT(message({"--node-name=a", "--sleep-interval=soon"}), HasSubstr("--sleep-interval"));
  EXPECT_THAT(message({"--oneshot=perhaps"}), HasSubstr("--oneshot"));
  EXPECT_THAT(message({"--no-such-flag"}), HasSubstr("no-such-flag"));
  EXPECT_THAT(message({}), HasSubstr("NODE_NAME"));
  EXPECT_THAT(message({"--node-name=a", "--device-discovery-strategy=tegra"}),
              HasSubstr("tegra is not supported"));
}

// The device plugin refuses it, and offers what it offered before.
TEST(Settings, WhatThePluginCantShareIsRefusedHereToo) {
  policy::PluginConfig file;
  file.sharing.strategy = policy::SharingStrategy::kMps;
  file.sharing.resources = {{.name = "nvidia.com/gpu", .replicas = 3}};
  const auto resolve = [&file](const char* strategy, const char* discovery) {
    return Resolve(Parsed({"--node-name=a", "--mig-strategy", strategy,
                           "--device-discovery-strategy", discovery})
                       .value()
                       .value(),
                   file);
  };
  ASSERT_FALSE(resolve("mixed", "auto").has_value());
  EXPECT_EQ(resolve("mixed", "auto").error().message,
            "sharing.mps: can't be had with the MIG strategy mixed");
  EXPECT_TRUE(resolve("single", "auto").has_value());
  EXPECT_TRUE(resolve("mixed", "vfio").has_value()) << "Gantry's plugin does not offer those";
}

TEST(Settings, OneLookEndsWithAWrongSettingToo) {
  policy::PluginConfig file;
  EXPECT_FALSE(IsOneshot(Parsed({}).value().value(), file));
  file.flags.gfd.oneshot = true;
  EXPECT_TRUE(IsOneshot(Parsed({}).value().value(), file));
  EXPECT_FALSE(IsOneshot(Parsed({"--oneshot=false"}).value().value(), file));
  for (const char* wrong : {"--mig-strategy=tripel", "--config-file=/no/such/file"}) {
    std::string words[] = {"gpu-feature-discovery", "--oneshot", "--node-name=a", wrong};
    std::vector<char*> flags;
    std::ranges::transform(words, std::back_inserter(flags),
                           [](std::string& word) { return word.data(); });
    EXPECT_EQ(RunGpuFeatureDiscovery(static_cast<int>(flags.size()), flags.data()), 1) << wrong;
  }
}

}  // namespace
}  // namespace gantry::gpu_features
