// SPDX-License-Identifier: Apache-2.0

#include "operator/decide_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/driver_parts_for_tests.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A cluster of one node with a GPU and a ClusterPolicy; tests change one thing.
class DecideClusterTest : public testing::Test {
 protected:
  DecideClusterTest() {
    settings_.ns = "ns";
    settings_.release.image = "r/gantry:1";
    Use(Json::object());
    seen_.nodes.emplace_back(
        "n", std::make_shared<const NodeFacts>(
                 DriverNode({.id = "ubuntu", .tag = "ubuntu22.04", .kernels = {}}, "", "")));
    seen_.cluster.nodes = seen_.cluster.gpu_nodes = seen_.cluster.described = 1;
  }

  void Use(const Json& spec) {
    asked_.policy = {{"spec", spec}};
    auto parsed = policy::Parse(asked_.policy);
    CHECK(parsed.has_value());
    policy_ = *std::move(parsed);
  }
  [[nodiscard]] ClusterInput Input() const {
    return {.owners = owners_,
            .asked = asked_,
            .policy = policy_,
            .drivers = drivers_,
            .settings = settings_,
            .seen = seen_,
            .foreign_nfd = foreign_};
  }
  ClusterDecision Decide() { return DecideCluster(Input(), cache_); }
  VerdictInput Judged(const ClusterDecision& decision) {
    return VerdictInputOf(Input(), decision,
                          {.daemon_sets = sets_,
                           .cluster = seen_.cluster,
                           .write_error = "",
                           .upgrades = upgrades_,
                           .outdated_definitions = {}});
  }
  // "DaemonSet nvidia-dcgm" of all that is desired.
  static std::vector<std::string> NamesOf(const ClusterDecision& decision) {
    std::vector<std::string> names;
    for (const Json* object : decision.desired.objects) {
      names.push_back(TextAt(*object, "kind") + " " + TextAt(*object, "metadata.name"));
    }
    return names;
  }

  Settings settings_;
  std::vector<Json> owners_ = {{{"apiVersion", "nvidia.com/v1"},
                                {"kind", "ClusterPolicy"},
                                {"metadata", {{"name", "p"}, {"uid", "1"}}}}};
  policy::LaidOver asked_;
  policy::ClusterPolicy policy_;
  std::vector<Json> drivers_;
  ClusterObservation seen_;
  bool foreign_ = false;
  OperandCache cache_;
  std::map<std::string, DaemonSetFacts> sets_;
  upgrade::UpgradeStatus upgrades_;
};

TEST_F(DecideClusterTest, APolicyOwnsWhatItAsksFor) {
  const ClusterDecision decision = Decide();
  EXPECT_THAT(NamesOf(decision), Contains("DaemonSet nvidia-device-plugin-daemonset"));
  EXPECT_EQ(ListAt(*decision.desired.objects.front(), "metadata.ownerReferences").size(), 1U);
  EXPECT_TRUE(decision.rules.from_features);
  EXPECT_TRUE(decision.rules.validated);
  EXPECT_FALSE(decision.drivers_on);
  EXPECT_THAT(DriversOff(owners_.front(), policy_), HasSubstr("of ClusterPolicy p is off"));
}

TEST_F(DecideClusterTest, WithoutAPolicyOnlyNvidiaDriversCount) {
  owners_.clear();
  const ClusterDecision decision = Decide();
  EXPECT_THAT(decision.desired.objects, IsEmpty());
  EXPECT_TRUE(decision.drivers_on);
  EXPECT_FALSE(decision.rules.validated);
}

TEST_F(DecideClusterTest, TheStateOfMigCountsWhileOurManagerRuns) {
  EXPECT_TRUE(Decide().rules.mig_states);
  Use({{"migManager", {{"repository", "r"}, {"image", "k8s-mig-manager"}, {"version", "v1"}}}});
  EXPECT_FALSE(Decide().rules.mig_states);
  Use({{"migManager", {{"enabled", false}}}});
  EXPECT_FALSE(Decide().rules.mig_states);
}

TEST_F(DecideClusterTest, BesideAnotherNfdOursDoesNotRun) {
  foreign_ = true;
  const ClusterDecision decision = Decide();
  EXPECT_THAT(NamesOf(decision), Not(Contains("DaemonSet nvidia-node-feature-discovery-worker")));
  EXPECT_FALSE(decision.rules.from_features);
  EXPECT_FALSE(Judged(decision).node_features_ours);
}

TEST_F(DecideClusterTest, NvidiasValidatorSaysNothingByALabel) {
  Use({{"validator",
        {{"repository", "nvcr.io/nvidia"}, {"image", "gpu-operator"}, {"version", "v1"}}}});
  EXPECT_FALSE(Decide().rules.validated);
}

TEST_F(DecideClusterTest, ADriverThatTakesEverySystemHoldsNodesOfOthersBack) {
  Use({{"driver", {{"repository", "r"}, {"image", "driver"}, {"version", "1"}}}});
  seen_.driver_sets = {{.name = "nvidia-driver-daemonset",
                        .system = "",
                        .image = "r/driver:1-ubuntu20.04",
                        .nodes = {{std::string(names::kDeployPrefix) + "driver", "true"}}}};
  const ClusterDecision decision = Decide();
  ASSERT_EQ(decision.rules.open_drivers.size(), 1U);
  EXPECT_EQ(decision.rules.open_drivers.front().system, "ubuntu20.04");
  policy_.driver_options.crd = true;
  EXPECT_THAT(Decide().rules.open_drivers, IsEmpty()) << "NVIDIADrivers have their own nodes";
}

TEST_F(DecideClusterTest, TheLabelThatAnExistingDriverSelectsByStays) {
  EXPECT_FALSE(Decide().rules.driver_systems);
  seen_.host_driver_sets = {
      {.name = "nvidia-vgpu-manager-daemonset", .system = "", .image = "", .nodes = {}}};
  EXPECT_TRUE(Decide().rules.driver_systems);
}

TEST_F(DecideClusterTest, DriversThatTheOperatorUpgradesAreKnownOnTheirNodes) {
  Use({{"driver",
        {{"repository", "r"},
         {"image", "driver"},
         {"version", "1"},
         {"upgradePolicy", {{"autoUpgrade", true}}}}}});
  const ClusterDecision decision = Decide();
  EXPECT_TRUE(decision.upgrades.contains(""));
  EXPECT_TRUE(decision.rules.upgrades);
}

TEST_F(DecideClusterTest, UpgradesThatThisProcessHasNotSeenYetStayInTheStatus) {
  Use({{"driver",
        {{"repository", "r"},
         {"image", "driver"},
         {"version", "1"},
         {"upgradePolicy", {{"autoUpgrade", true}}}}}});
  owners_.front()["status"]["driverUpgrades"] = {{"total", 7}};
  EXPECT_EQ(Judged(Decide()).driver_upgrades["total"], 7);
  upgrades_.on = true;
  upgrades_.status = {{"total", 1}};
  EXPECT_EQ(Judged(Decide()).driver_upgrades["total"], 1);
}

TEST_F(DecideClusterTest, AMissingConfigMapIsToldOnlyOnceItIsKnown) {
  Use({{"devicePlugin", {{"config", {{"name", "c"}}}}}});
  EXPECT_EQ(Judged(Decide()).missing_config, "");
  seen_.missing_config_maps = {"c"};
  EXPECT_EQ(Judged(Decide()).missing_config, "c");
}

TEST_F(DecideClusterTest, ADoubleIsItsOwnersFailedWrite) {
  ClusterDecision decision = Decide();
  decision.desired.doubles = {{.key = {}, .message = "asked for twice", .owners = {"2"}}};
  EXPECT_EQ(Judged(decision).write_error, "");
  decision.desired.doubles.front().owners = {"1"};
  EXPECT_EQ(Judged(decision).write_error, "asked for twice");
}

TEST_F(DecideClusterTest, TheStartupTaintIsTolerated) {
  const auto tolerations = [&](const std::string& taint) {
    return WithStartupTaint(policy_, taint).tolerations.size();
  };
  EXPECT_EQ(tolerations("nvidia.com/gpu-not-ready"), tolerations("") + 1);
}

TEST(Describable, WorkersOnSomeNodesMissNoOthers) {
  ClusterFacts cluster;
  cluster.described = 1;
  cluster.undescribed = {"a"};
  const std::string workers = "nvidia-node-feature-discovery-worker";
  DaemonSetFacts set;
  set.desired = 1;
  const Json chosen = {{"nodeSelector", {{"a", "b"}}}};
  EXPECT_THAT(Describable(cluster, chosen, {{workers, set}}).undescribed, IsEmpty());
  EXPECT_THAT(Describable(cluster, Json(), {{workers, set}}).undescribed, Contains("a"));
  EXPECT_THAT(Describable(cluster, chosen, {}).undescribed, Contains("a"));
  set.desired = 2;
  EXPECT_THAT(Describable(cluster, chosen, {{workers, set}}).undescribed, Contains("a"));
}

}  // namespace
}  // namespace gantry::gpu_operator
