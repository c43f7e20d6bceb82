// SPDX-License-Identifier: Apache-2.0

// What objects drivers come to is seen in tests/golden/operator (nvidia_driver_crd...).

#include "operator/driver_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/operands.h"
#include "operator/policy_status.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;

Json Driver(const std::string& name, Json spec = Json::object()) {
  spec.update({{"repository", "r"}, {"image", "i"}, {"version", "1"}});
  return {{"metadata", {{"name", name}, {"uid", name + "-uid"}}}, {"spec", std::move(spec)}};
}

class DriverPlanTest : public testing::Test {
 protected:
  DriverPlanTest() {
    context_.policy = *policy::Parse(Json::object());
    context_.ns = "ns";
    context_.release.driver_manager = "m:1";
  }
  void AddNode(const std::string& name, const std::string& owner) {
    facts_[name].labels = format("{}=true\n{}driver=true\n{}=ubuntu\n{}=22.04\n{}={}\n",
                                 names::kGpuPresent, names::kDeployPrefix, names::kSystemId,
                                 names::kSystemVersion, names::kDriverOwner, owner);
  }
  DriverPlan Plan() {
    asked_.nodes.clear();
    for (const auto& [name, facts] : facts_) {
      asked_.nodes.emplace_back(name, &facts);
    }
    return PlanDrivers(asked_, context_);
  }
  Verdict JudgeFirst() {
    return JudgeDriver(Plan().drivers.at(0), sets_, ClusterFacts(), error_, labelling_);
  }

  Context context_;
  DriversAsked asked_;
  std::map<std::string, NodeFacts> facts_;
  std::map<std::string, DaemonSetFacts> sets_;
  std::string error_;
  bool labelling_ = false;
};

TEST_F(DriverPlanTest, SwitchedOffTheyOwnNothing) {
  asked_.objects = {Driver("d", {{"default", true}})};
  asked_.off = "driver.useNvidiaDriverCRD of ClusterPolicy p is off";
  AddNode("n", "d");
  EXPECT_EQ(Plan().owners.OwnerOf("n"), "");
  EXPECT_THAT(Plan().drivers.at(0).objects, IsEmpty());
  EXPECT_FALSE(Plan().drivers.at(0).stays);
  const Json status = BriefStatus(JudgeFirst(), "ns", {Json(), 1, WallTime()});
  EXPECT_EQ(status["state"], "disabled");
  EXPECT_EQ(status["conditions"][1]["type"], "Error");
  EXPECT_EQ(status["conditions"][1]["status"], "True");
  EXPECT_EQ(status["conditions"][1]["reason"], "Reconciled");
}

TEST_F(DriverPlanTest, AMistakeInOneCostsTheOthersNothing) {
  asked_.objects = {Driver("a", {{"kernelModuleType", "x"}, {"nodeSelector", {{"p", "a"}}}}),
                    Driver("b", {{"default", true}})};
  asked_.selections = {{"p=a", {"n"}}};
  AddNode("n", "a");
  AddNode("m", "b");
  const DriverPlan plan = Plan();
  EXPECT_TRUE(plan.drivers[0].stays) << "what it has holds a driver that is used";
  EXPECT_FALSE(IsWhole(plan.drivers[0]));
  EXPECT_TRUE(IsWhole(plan.drivers[1]));
  EXPECT_EQ(plan.owners.OwnerOf("n"), "a");
  EXPECT_FALSE(plan.drivers[1].stays);
  EXPECT_FALSE(plan.drivers[1].objects.empty());
  const Verdict verdict = JudgeFirst();
  EXPECT_EQ(verdict.state + " " + verdict.reason, "notReady ReconcileFailed");
  EXPECT_THAT(verdict.message, HasSubstr("spec.kernelModuleType"));
}

TEST_F(DriverPlanTest, CertificatesOfTheClusterAreForAllOfThem) {
  asked_.objects = {Driver("a", {{"nodeSelector", {{"p", "a"}}}}),
                    Driver("b", {{"default", true}})};
  asked_.selections = {{"p=a", {"n"}}};
  AddNode("n", "a");
  context_.openshift.version = "4.13";
  context_.openshift.constraints = true;
  context_.openshift.proxy.trusted_ca = true;
  context_.policy.driver_options.precompiled = true;
  const DriverPlan plan = Plan();
  ASSERT_EQ(plan.shared.size(), 2U);
  EXPECT_EQ(plan.shared[1]["metadata"]["name"], names::kTrustedCa);
  EXPECT_EQ(plan.shared[1]["metadata"]["ownerReferences"].size(), 2U);
  const Objects& objects = plan.drivers[0].objects;
  EXPECT_THAT(objects.back().dump(), HasSubstr(names::kTrustedCa));
  // Its pods' account has constraints of its own.
  const auto constraints = std::ranges::find_if(objects, [](const Json& object) {
    return TextAt(object, "kind") == "SecurityContextConstraints";
  });
  ASSERT_TRUE(constraints != objects.end());
  const std::string account = TextAt(objects.back(), "spec.template.spec.serviceAccountName");
  EXPECT_EQ(TextAt(*constraints, "metadata.name"), account);
  EXPECT_EQ((*constraints)["users"],
            Json::array({format("system:serviceaccount:{}:{}", context_.ns, account)}));
  EXPECT_EQ((*constraints)["allowHostPID"], true);
}

TEST_F(DriverPlanTest, WhatIsNotKnownYetMovesNothing) {
  asked_.objects = {Driver("a", {{"nodeSelector", {{"p", "a"}}}}),
                    Driver("b", {{"default", true}})};
  AddNode("n", "b");
  EXPECT_THAT(SelectorsOf(asked_.objects), ElementsAre("p=a"));
  const DriverPlan plan = Plan();
  EXPECT_TRUE(plan.drivers[0].stays);
  EXPECT_EQ(plan.owners.OwnerOf("n"), std::nullopt);
  EXPECT_FALSE(plan.drivers[1].objects.empty()) << "it keeps the node that it has";
  EXPECT_EQ(JudgeFirst().reason, "DriverNotReady");
}

TEST_F(DriverPlanTest, AnImpossibleSelectorTakesNoNode) {
  asked_.objects = {Driver("a", {{"nodeSelector", {{"p", "a b"}}}}),
                    Driver("b", {{"default", true}})};
  AddNode("n", "b");
  EXPECT_THAT(SelectorsOf(asked_.objects), IsEmpty()) << "the API server would refuse it for ever";
  EXPECT_EQ(Plan().owners.OwnerOf("n"), "b");
  EXPECT_THAT(JudgeFirst().message, HasSubstr("p=a b"));
}

TEST_F(DriverPlanTest, WhatANodeHasStaysWhileItDoesNotSayItsSystem) {
  asked_.objects = {Driver("d")};
  AddNode("n", "d");
  EXPECT_TRUE(IsWhole(Plan().drivers[0]));
  facts_["n"].labels.erase(facts_["n"].labels.find(names::kSystemVersion), 10);
  EXPECT_FALSE(IsWhole(Plan().drivers[0]));
}

TEST_F(DriverPlanTest, ReadyIsSaidWhenEveryNodeHasItsPod) {
  asked_.objects = {Driver("d")};
  EXPECT_EQ(JudgeFirst().state, "ready") << "there is no node with GPUs";
  AddNode("n", "");
  EXPECT_THAT(JudgeFirst().message, HasSubstr("not labelled as its nodes yet: n"));
  AddNode("n", "d");
  facts_["n"].labels.erase(facts_["n"].labels.find(names::kSystemVersion), 10);
  EXPECT_THAT(JudgeFirst().message, HasSubstr("which system these nodes run: n"));
  AddNode("n", "d");
  EXPECT_THAT(JudgeFirst().message, HasSubstr("is not there yet"));
  const std::string set = TextAt(Plan().drivers[0].objects.back(), "metadata.name");
  sets_[set] = {1, 1, 0, 0, 0, 0, true};
  EXPECT_THAT(JudgeFirst().message, HasSubstr("0 of 1 nodes have a pod"));
  sets_[set] = {1, 1, 1, 1, 0, 1, true};
  EXPECT_THAT(JudgeFirst().message, HasSubstr("0 of 1 pods"));
  sets_[set] = {1, 1, 1, 0, 1, 0, true};
  EXPECT_THAT(JudgeFirst().message, HasSubstr("are updated"));
  sets_[set] = {1, 1, 1, 1, 1, 0, true};
  EXPECT_EQ(JudgeFirst().state + JudgeFirst().reason, "readyReconciled");
  labelling_ = true;
  EXPECT_EQ(JudgeFirst().state + JudgeFirst().reason, "notReadyDriverNotReady");
  error_ = "the API server says no";
  EXPECT_EQ(JudgeFirst().state + JudgeFirst().reason, "notReadyReconcileFailed");
}

TEST_F(DriverPlanTest, WhatWaitsForLabelsIsItsOwnOrAnothers) {
  AddNode("n", "d");
  asked_.objects = {Driver("d"), Driver("without-nodes", {{"nodeSelector", {{"no", "node"}}}})};
  asked_.selections = {{"no=node", {}}};
  const DriverPlan plan = Plan();
  gpu_operator::Plan held;
  EXPECT_FALSE(WaitsForLabels(plan.drivers[0], held));
  EXPECT_FALSE(WaitsForLabels(plan.drivers[1], held));
  held.replace = plan.shared;
  EXPECT_FALSE(WaitsForLabels(plan.drivers[0], held));
  EXPECT_TRUE(WaitsForLabels(plan.drivers[1], held)) << "it may get some";
  held.create = {plan.drivers[0].objects.back()};
  EXPECT_TRUE(WaitsForLabels(plan.drivers[0], held));
}

TEST_F(DriverPlanTest, EachHasItsUpgradePolicy) {
  asked_.objects = {
      Driver("a"), Driver("off", {{"upgradePolicy", {{"autoUpgrade", false}}}}),
      Driver("wrong", {{"kernelModuleType", "x"}, {"upgradePolicy", {{"maxParallelUpgrades", 3}}}}),
      Driver("wrong-policy", {{"upgradePolicy", {{"maxUnavailable", "some"}}}})};
  const DriverPlan plan = Plan();
  const upgrade::Policies policies = UpgradesOf(context_.policy, plan);
  EXPECT_THAT(policies, ElementsAre(Key("a"), Key("wrong"), Key("wrong-policy")));
  ASSERT_TRUE(policies.at("wrong").has_value()) << "what is wrong with it is something else";
  EXPECT_EQ(policies.at("wrong")->max_parallel, 3);
  EXPECT_FALSE(policies.at("wrong-policy").has_value());
}

// They say themselves for which nodes they are; a ClusterPolicy's upgrades are off then.
TEST_F(DriverPlanTest, UpgradesGoOnBesideVirtualMachines) {
  asked_.objects = {Driver("a")};
  context_.policy.sandbox = true;
  EXPECT_THAT(UpgradesOf(context_.policy, Plan()), ElementsAre(Key("a")));
}

Json Owned(const char* kind, const char* uid) {
  return {{"metadata", {{"ownerReferences", Json::array({{{"kind", kind}, {"uid", uid}}})}}}};
}

TEST(HandOver, PodsOfDriversStayWhoeverManagesThem) {
  const std::map<ObjectKey, Json> observed = {
      {{"DaemonSet", "ns", "nvidia-driver-daemonset-5.15-ubuntu22.04"},
       Owned("ClusterPolicy", "p")},
      {{"DaemonSet", "ns", "nvidia-vgpu-manager-daemonset"}, Owned("GPUClusterPolicy", "p")},
      {{"ServiceAccount", "ns", "nvidia-driver"}, Owned("ClusterPolicy", "p")},
      {{"ConfigMap", "ns", names::kTrustedCa}, Owned("ClusterPolicy", "p")},
      {{"DaemonSet", "ns", "nvidia-dcgm"}, Owned("ClusterPolicy", "p")},
      {{"DaemonSet", "ns", "nvidia-gpu-driver-x"}, Owned("NVIDIADriver", "d")},
      {{"Role", "ns", "nvidia-gpu-driver-d"}, Owned("NVIDIADriver", "d")},
      {{"DaemonSet", "ns", "nvidia-gpu-driver-gone"}, Owned("NVIDIADriver", "gone")}};
  const auto names = [&](bool on) {
    Plan plan;
    for (const auto& [key, object] : observed) {
      plan.remove.push_back(key);
    }
    HandOver(on, observed, {"d"}, plan);
    std::string text;
    for (const ObjectKey& key : plan.remove) {
      text += "-" + key.name + " ";
    }
    for (const ObjectKey& key : plan.orphan) {
      text += "~" + key.name + " ";
    }
    return text;
  };
  EXPECT_EQ(names(true),
            "-nvidia-dcgm -nvidia-gpu-driver-gone -nvidia-gpu-driver-x -nvidia-gpu-driver-d "
            "~nvidia-driver-daemonset-5.15-ubuntu22.04 ~nvidia-vgpu-manager-daemonset ");
  EXPECT_EQ(names(false),
            "-gpu-operator-trusted-ca -nvidia-dcgm -nvidia-driver-daemonset-5.15-ubuntu22.04 "
            "-nvidia-gpu-driver-gone "
            "-nvidia-vgpu-manager-daemonset -nvidia-driver ~nvidia-gpu-driver-x ");
}

}  // namespace
}  // namespace gantry::gpu_operator
