// SPDX-License-Identifier: Apache-2.0

#include "policy/nvidia_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

const Json kImage = {{"repository", "r.io"}, {"image", "driver"}, {"version", "580.1"}};

// A driver with an image, and what is said besides.
Json Driver(const Json& spec = Json::object(), const std::string& name = "d") {
  Json all = kImage;
  all.merge_patch(spec);
  return {{"metadata", {{"name", name}}}, {"spec", std::move(all)}};
}

TEST(NvidiaDriver, HasNvidiasDefaults) {
  const auto driver = ParseNvidiaDriver(Driver());
  ASSERT_TRUE(driver.has_value()) << driver.error().message;
  EXPECT_EQ(driver->type, "gpu");
  EXPECT_EQ(driver->options.kernel_module_type, "auto");
  EXPECT_EQ(driver->options.startup.initial_delay, 60);
  EXPECT_TRUE(driver->options.nls);
  EXPECT_TRUE(driver->options.upgrade.automatic)
      << "a ClusterPolicy's are not automatic by default";
  EXPECT_EQ(driver->options.upgrade.max_parallel, 1);
  EXPECT_EQ(driver->priority_class, "system-node-critical");
  EXPECT_EQ(driver->tolerations.size(), 1U);
  const auto precompiled = ParseNvidiaDriver(Driver({{"usePrecompiled", true}}));
  EXPECT_EQ(precompiled->options.startup.initial_delay, 5);
  const auto alone = ParseNvidiaDriver({{"spec", {{"image", "r.io/driver:580.1"}}}});
  EXPECT_TRUE(alone.has_value());
}

TEST(NvidiaDriver, ReadsWhatIsCalledOtherwiseThanInAClusterPolicy) {
  const auto driver = ParseNvidiaDriver(Driver(
      {{"labels", {{"team", "ml"}, {"app", "x"}, {"app.kubernetes.io/name", "y"}}},
       {"annotations", {{"a", "b"}}},
       {"tolerations",
        Json::array({{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}},
                     {{"operator", "Exists"}}})},
       {"licensingConfig", {{"name", "l"}, {"secretName", "s"}, {"nlsEnabled", false}}},
       {"virtualTopologyConfig", {{"name", "t"}}},
       {"repoConfig", {{"name", "p"}}},
       {"certConfig", {{"name", "c"}}},
       {"kernelModuleConfig", {{"name", "k"}}},
       {"manager", {{"image", "m"}}},
       {"upgradePolicy", {{"autoUpgrade", false}}}}));
  ASSERT_TRUE(driver.has_value()) << driver.error().message;
  EXPECT_THAT(driver->pod_labels, ElementsAre(Pair("team", "ml")));
  EXPECT_THAT(driver->pod_annotations, ElementsAre(Pair("a", "b")));
  EXPECT_THAT(driver->tolerations, SizeIs(2)) << "that of nvidia.com/gpu stands there once";
  EXPECT_EQ(driver->options.licensing_config, "l");
  EXPECT_EQ(driver->options.licensing_secret, "s");
  EXPECT_FALSE(driver->options.nls);
  EXPECT_EQ(driver->options.topology_config, "t");
  EXPECT_EQ(driver->options.repo_config, "p");
  EXPECT_EQ(driver->options.cert_config, "c");
  EXPECT_EQ(driver->options.kernel_module_config, "k");
  EXPECT_EQ(driver->options.manager.image.image, "m");
  EXPECT_FALSE(driver->options.upgrade.automatic);
}

TEST(NvidiaDriver, HowDriversAreUpgradedIsReadByItself) {
  const auto read = [](const Json& spec) { return ParseDriverUpgrade(Driver(spec)); };
  EXPECT_TRUE(read(Json::object())->automatic);
  EXPECT_EQ(read({{"kernelModuleType", 5}, {"upgradePolicy", {{"maxParallelUpgrades", 3}}}})
                ->max_parallel,
            3);
  const Json wrong = {{"upgradePolicy", {{"maxUnavailable", "some"}}}};
  EXPECT_THAT(read(wrong).error().message, StartsWith("spec.upgradePolicy.maxUnavailable: "));
  Json off = wrong;
  off["upgradePolicy"]["autoUpgrade"] = false;
  EXPECT_FALSE(read(off)->automatic) << "nothing else matters then";
}

TEST(NvidiaDriver, MistakesNameTheField) {
  struct Case {
    Json spec;
    const char* field;
  };
  const Json gds = {{"enabled", true}, {"version", "v2.17.5"}};
  const std::vector<Case> cases = {
      {{{"driverType", "cpu"}}, "spec.driverType: "},
      {{{"kernelModuleType", "closed"}}, "spec.kernelModuleType: "},
      {{{"usePrecompiled", "yes"}}, "spec.usePrecompiled: "},
      {{{"upgradePolicy", {{"maxUnavailable", "many"}}}}, "spec.upgradePolicy.maxUnavailable: "},
      {{{"labels", {{"a", 1}}}}, "spec.labels: "},
      {{{"version", nullptr}}, "spec.version: "},
      {{{"usePrecompiled", true}, {"version", "sha256:ab"}}, "spec.version: "},
      {{{"usePrecompiled", true}, {"gds", {{"enabled", true}}}}, "spec.gds.enabled: "},
      {{{"usePrecompiled", true}, {"gdrcopy", {{"enabled", true}}}}, "spec.gdrcopy.enabled: "},
      {{{"gds", gds}}, "spec.gds.version: "},
      {{{"gds", {{"enabled", true}, {"version", "sha256:ab"}}}}, "spec.gds.version: "},
  };
  for (const Case& one : cases) {
    const auto driver = ParseNvidiaDriver(Driver(one.spec));
    ASSERT_FALSE(driver.has_value()) << one.field;
    EXPECT_THAT(driver.error().message, StartsWith(one.field));
  }
  EXPECT_THAT(ParseNvidiaDriver(Driver({}, std::string(64, 'a'))).error().message,
              StartsWith("metadata.name: "));
  EXPECT_TRUE(ParseNvidiaDriver(Driver({{"gds", gds}, {"kernelModuleType", "open"}})).has_value());
  for (const char* older : {"v2.17.4", "2.16.9", "v1.99.99", "latest"}) {
    const Json spec = {{"gds", {{"enabled", true}, {"version", older}}}};
    EXPECT_TRUE(ParseNvidiaDriver(Driver(spec)).has_value()) << older;
  }
}

TEST(NvidiaDriver, SaysWhichNodesItIsFor) {
  const auto all = ParseSelection(Driver());
  ASSERT_TRUE(all.has_value());
  EXPECT_FALSE(all->is_default);
  EXPECT_THAT(all->nodes, IsEmpty());
  const auto some = ParseSelection(Driver({{"nodeSelector", {{"pool", "a"}}}}));
  EXPECT_THAT(some->nodes, ElementsAre(Pair("pool", "a")));
  EXPECT_TRUE(ParseSelection(Driver({{"default", true}}))->is_default);
  for (const Json& wrong : {Json{{"nodeSelector", {{"nvidia.com/gpu-operator.driver.owner", "x"}}}},
                            Json{{"default", true}, {"nodeSelector", {{"a", "b"}}}},
                            Json{{"nodeSelector", {{"a", 1}}}}}) {
    const auto selection = ParseSelection(Driver(wrong));
    ASSERT_FALSE(selection.has_value()) << wrong;
    EXPECT_THAT(selection.error().message, StartsWith("spec.nodeSelector: "));
  }
}

TEST(NvidiaDriver, KnownFieldsThatAreNotActedOnAreNamed) {
  EXPECT_THAT(UnsupportedDriverFields(Driver()), IsEmpty());
  EXPECT_THAT(UnsupportedDriverFields(Driver({{"nodeAffinity", {{"x", 1}}},
                                              {"livenessProbe", {{"periodSeconds", 1}}},
                                              {"readinessProbe", Json::object()}})),
              ElementsAre("livenessProbe", "nodeAffinity"));
}

}  // namespace
}  // namespace gantry::policy
