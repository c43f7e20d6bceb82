// SPDX-License-Identifier: Apache-2.0

#include "operator/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "operator/desired/context.h"
#include "operator/desired/makers.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Context SomeContext() {
  Context context;
  auto policy =
      policy::Parse({{"spec",
                      {{"devicePlugin",
                        {{"config", {{"name", "c"}, {"default", ""}}},
                         {"resources", {{"limits", {{"cpu", "0.5"}, {"memory", 1}}}}}}}}}});
  CHECK(policy.has_value());
  context.policy = *policy;
  context.ns = "ns";
  context.release.image = "i:1";
  context.owners = Json::array({{{"apiVersion", "nvidia.com/v1"},
                                 {"kind", "ClusterPolicy"},
                                 {"name", "p"},
                                 {"uid", "u"},
                                 {"controller", true},
                                 {"blockOwnerDeletion", true}}});
  return context;
}

Json PluginDaemonSet() { return DevicePlugin(SomeContext(), "i:1").back(); }

// As the API server stores a DaemonSet: with its defaults, without what is empty.
Json Stored(Json set) {
  set["metadata"]["uid"] = "x";
  set["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "1";
  set["spec"]["revisionHistoryLimit"] = 10;
  Json& pod = set["spec"]["template"]["spec"];
  pod["dnsPolicy"] = "ClusterFirst";
  pod["restartPolicy"] = "Always";
  pod["schedulerName"] = "default-scheduler";
  pod["securityContext"] = Json::object();
  pod["serviceAccount"] = pod["serviceAccountName"];
  pod["terminationGracePeriodSeconds"] = 30;
  Json& container = pod["containers"][0];
  container["terminationMessagePath"] = "/dev/termination-log";
  container["terminationMessagePolicy"] = "File";
  container["resources"]["limits"] = {{"cpu", "500m"}, {"memory", "1"}};
  for (Json& variable : container["env"]) {
    if (variable.contains("value") && variable["value"] == "") {
      variable.erase("value");
    }
  }
  set["status"] = {{"numberReady", 1}};
  return set;
}

TEST(Plan, WhatTheApiServerFillsInIsNoDifference) {
  EXPECT_TRUE(IsAsDesired(PluginDaemonSet(), Stored(PluginDaemonSet())));
}

TEST(Plan, EveryEditIsADifference) {
  const std::vector<std::function<void(Json&)>> edits = {
      [](Json& set) { set["spec"]["template"]["spec"]["containers"][0]["image"] = "other"; },
      [](Json& set) { set["spec"]["template"]["spec"]["hostNetwork"] = true; },
      [](Json& set) { set["spec"]["template"]["spec"]["dnsPolicy"] = "None"; },
      [](Json& set) { set["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 5; },
      [](Json& set) {
        set["spec"]["template"]["spec"]["containers"][0]["env"].push_back(
            {{"name", "X"}, {"value", "1"}});
      },
      [](Json& set) { set["spec"]["template"]["spec"]["containers"][0]["env"].erase(0); },
      [](Json& set) { set["spec"]["template"]["spec"]["containers"][0].erase("securityContext"); },
      [](Json& set) {
        set["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1";
      },
      [](Json& set) {
        set["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "junk";
      },
      [](Json& set) { set["spec"]["template"]["spec"]["containers"][0]["args"] = {"--x"}; },
      [](Json& set) { set["spec"]["template"]["spec"]["nodeSelector"]["more"] = "x"; },
      [](Json& set) { set["spec"]["template"]["metadata"]["annotations"]["more"] = "x"; },
      [](Json& set) { set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 1; },
      [](Json& set) { set["metadata"]["labels"].erase("app"); },
      [](Json& set) { set["metadata"]["annotations"].erase("nvidia.com/last-applied-hash"); },
      [](Json& set) { set["metadata"].erase("ownerReferences"); },
      [](Json& set) { set.erase("spec"); },
  };
  for (size_t i = 0; i < edits.size(); ++i) {
    Json stored = Stored(PluginDaemonSet());
    edits[i](stored);
    EXPECT_FALSE(IsAsDesired(PluginDaemonSet(), stored)) << "edit " << i;
  }
}

TEST(Plan, LabelsOfOthersAndARestartByHandAreKept) {
  Json stored = Stored(PluginDaemonSet());
  stored["metadata"]["labels"]["theirs"] = "x";
  stored["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] =
      "now";
  EXPECT_TRUE(IsAsDesired(PluginDaemonSet(), stored));
  const Json put = Replacement(PluginDaemonSet(), stored);
  EXPECT_EQ(put["metadata"]["labels"]["theirs"], "x");
  EXPECT_EQ(put["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"],
            "now");
  EXPECT_TRUE(IsAsDesired(PluginDaemonSet(), put));
}

TEST(Plan, LabelsAndAnnotationsThatArePolicysNoMoreGo) {
  Context context = SomeContext();
  context.policy.pod_labels = {{"team", "ml"}};
  context.policy.pod_annotations = {{"note", "n"}};
  Json stored = Stored(DevicePlugin(context, "i:1").back());
  stored["metadata"]["labels"]["theirs"] = "x";
  stored["spec"] = Stored(PluginDaemonSet())["spec"];
  EXPECT_FALSE(IsAsDesired(PluginDaemonSet(), stored));
  const Json put = Replacement(PluginDaemonSet(), stored);
  EXPECT_FALSE(put["metadata"]["labels"].contains("team"));
  EXPECT_FALSE(put["metadata"]["annotations"].contains("note"));
  EXPECT_EQ(put["metadata"]["labels"]["theirs"], "x");
  EXPECT_TRUE(IsAsDesired(PluginDaemonSet(), put));

  context = SomeContext();
  context.monitoring = {Served::kYes, Served::kYes};
  context.policy.operator_monitor.labels = {{"release", "prometheus"}};
  const Json monitor = OperatorMetrics(context, "")[1];
  context.policy.operator_monitor.labels.clear();
  EXPECT_FALSE(IsAsDesired(OperatorMetrics(context, "")[1], monitor));
}

TEST(Plan, SmallObjectsAreComparedToo) {
  const Objects objects = DevicePlugin(SomeContext(), "i:1");
  Json account = objects[0];
  account["secrets"] = Json::array({{{"name", "token"}}});
  EXPECT_TRUE(IsAsDesired(objects[0], account));
  EXPECT_EQ(Replacement(objects[0], account)["secrets"], account["secrets"]);
  Json role = objects[1];
  role["rules"][0]["verbs"].push_back("delete");
  EXPECT_FALSE(IsAsDesired(objects[1], role));
  role = objects[1];
  role["aggregationRule"] = {{"x", 1}};
  EXPECT_FALSE(IsAsDesired(objects[1], role));
  Json binding = objects[2];
  binding.erase("subjects");
  EXPECT_FALSE(IsAsDesired(objects[2], binding));
  const Json service = OperatorMetrics(SomeContext(), "").front();
  Json stored = service;
  stored["spec"]["clusterIP"] = "10.0.0.1";
  stored["spec"]["clusterIPs"] = {"10.0.0.1"};
  stored["spec"]["type"] = "ClusterIP";
  stored["spec"]["sessionAffinity"] = "None";
  EXPECT_TRUE(IsAsDesired(service, stored));
  stored["spec"]["type"] = "NodePort";
  EXPECT_FALSE(IsAsDesired(service, stored));
}

// A cloud puts its finalizer back whenever it is taken away.
TEST(Plan, AServiceWithAnAddressOutsideIsLeftAlone) {
  Json service = OperatorMetrics(SomeContext(), "").front();
  service["spec"]["type"] = "LoadBalancer";
  Json stored = service;
  stored["spec"]["ports"][0]["nodePort"] = 30000;
  stored["spec"]["externalTrafficPolicy"] = "Cluster";
  stored["spec"]["allocateLoadBalancerNodePorts"] = true;
  stored["metadata"]["finalizers"] = {"service.kubernetes.io/load-balancer-cleanup"};
  EXPECT_TRUE(IsAsDesired(service, stored));
  EXPECT_EQ(Replacement(service, stored)["metadata"]["finalizers"],
            stored["metadata"]["finalizers"]);
}

TEST(Plan, CreatesReplacesAndRemoves) {
  const Objects desired = DevicePlugin(SomeContext(), "i:1");
  std::map<ObjectKey, Json> observed;
  EXPECT_THAT(MakePlan(desired, observed, {}).create, SizeIs(4));
  for (const Json& object : desired) {
    observed[KeyOfObject(object)] = object;
  }
  EXPECT_TRUE(MakePlan(desired, observed, {}).empty());
  observed[KeyOfObject(desired[1])]["rules"] = Json::array();
  const Plan plan = MakePlan(desired, observed, {});
  EXPECT_THAT(plan.create, IsEmpty());
  EXPECT_THAT(plan.replace, ElementsAre(desired[1]));
  EXPECT_THAT(MakePlan({}, observed, {}).remove, SizeIs(4));
  EXPECT_THAT(MakePlan({}, observed, {{"u"}}).remove, IsEmpty());
  // Not a policy's: the cleanup DaemonSet, or what somebody else labelled like ours.
  for (auto& [key, object] : observed) {
    object["metadata"].erase("ownerReferences");
  }
  EXPECT_TRUE(MakePlan({}, observed, {}).empty());
}

// op#1207: two kernels came to one name, and each was written over the other for ever.
TEST(Plan, Op1207_TwoObjectsOfOneIdentityAreAReason) {
  Json one = PluginDaemonSet();
  Json two = one;
  two["metadata"]["ownerReferences"][0]["uid"] = "v";
  two["spec"]["template"]["spec"]["nodeSelector"] = {{"kernel", "b"}};
  const Json same = one;
  const Json other = DevicePlugin(SomeContext(), "i:1").front();
  std::vector<const Json*> desired = {&one, &other, &same};
  std::set<Incomplete> incomplete;
  EXPECT_THAT(TakeOutDoubles(desired, incomplete), IsEmpty()) << "they are equal";
  EXPECT_THAT(desired, ElementsAre(&one, &other));
  desired = {&one, &other, &two};
  const std::vector<Double> doubles = TakeOutDoubles(desired, incomplete);
  EXPECT_THAT(desired, ElementsAre(&other));
  ASSERT_THAT(doubles, SizeIs(1));
  EXPECT_EQ(doubles[0].owners, (std::set<std::string>{"u", "v"}));
  for (const char* told : {"DaemonSet nvidia-device-plugin-daemonset is asked for twice",
                           "kernel=b", "gpu.deploy.device-plugin=true", "leave one of the two"}) {
    EXPECT_THAT(doubles[0].message, testing::HasSubstr(told));
  }
  EXPECT_TRUE(MakePlan({}, {{KeyOfObject(one), one}}, incomplete).empty()) << "what is there stays";
}

// op#433: a driver's DaemonSet leaves nodes to another one.
TEST(Plan, Op433_ADriverForOtherNodesIsTheSameDriver) {
  Json wide = PluginDaemonSet();
  wide["spec"]["updateStrategy"] = {{"type", "OnDelete"}};
  Json narrow = wide;
  narrow["spec"]["template"]["spec"]["nodeSelector"][names::kDriverSystem] = "s";
  Json put = Replacement(narrow, Stored(wide));
  EXPECT_EQ(put["metadata"]["annotations"][names::kNarrowed], "true");
  EXPECT_TRUE(MakePlan({narrow}, {{KeyOfObject(put), put}}, {}).empty());
  // Something else of it is repaired meanwhile.
  Json label = narrow;
  label["metadata"]["labels"]["more"] = "x";
  EXPECT_EQ(Replacement(label, put)["metadata"]["annotations"][names::kNarrowed], "true");
  Json newer = narrow;
  newer["spec"]["template"]["spec"]["hostPID"] = true;
  EXPECT_FALSE(Replacement(newer, put)["metadata"]["annotations"].contains(names::kNarrowed));
  EXPECT_FALSE(
      Replacement(newer, Stored(wide))["metadata"]["annotations"].contains(names::kNarrowed));
}

TEST(Plan, EveryKindThatAsksForObjectsLetsThemGo) {
  for (const auto& [version, kind] : {std::pair{"nvidia.com/v1", "ClusterPolicy"},
                                      {"gpu.nvidia.com/v1", "GPUClusterPolicy"},
                                      {"nvidia.com/v1alpha1", "NVIDIADriver"}}) {
    Json set = PluginDaemonSet();
    set["metadata"]["ownerReferences"][0] = {{"apiVersion", version}, {"kind", kind}, {"uid", "d"}};
    const std::map<ObjectKey, Json> observed = {{KeyOfObject(set), set}};
    EXPECT_THAT(MakePlan({}, observed, {{"another"}}).remove, SizeIs(1)) << kind;
    EXPECT_TRUE(MakePlan({}, observed, {{"d"}}).empty()) << kind;
  }
}

TEST(Plan, AMistakeKeepsTheObjectsOfItsOperandAlone) {
  Context context = SomeContext();
  context.state = "state-device-plugin";
  const Json set = DevicePlugin(context, "i:1").back();
  const std::map<ObjectKey, Json> observed = {{KeyOfObject(set), set}};
  EXPECT_TRUE(MakePlan({}, observed, {{"u", "state-device-plugin"}}).empty());
  EXPECT_THAT(MakePlan({}, observed, {{"u", "state-dcgm"}}).remove, SizeIs(1));
  // NVIDIA's operator does not say whose it is: a DaemonSet's name does.
  const auto removed = [](const Json& unlabelled, const char* missed) {
    return MakePlan({}, {{KeyOfObject(unlabelled), unlabelled}}, {{"u", missed}}).remove.size();
  };
  EXPECT_EQ(removed(PluginDaemonSet(), "state-dcgm"), 1U);
  EXPECT_EQ(removed(PluginDaemonSet(), "state-device-plugin"), 0U);
  const Json account = DevicePlugin(SomeContext(), "i:1").front();
  EXPECT_EQ(removed(account, "state-dcgm"), 0U);
}

TEST(Plan, ContentIsWhatIsAskedFor) {
  Json object = Stored(PluginDaemonSet());
  object["metadata"]["managedFields"] = Json::array({1});
  object["metadata"]["resourceVersion"] = "5";
  const auto content = ParseJson(ContentOf(object));
  ASSERT_TRUE(content.has_value());
  EXPECT_FALSE(content->contains("status"));
  EXPECT_FALSE((*content)["metadata"].contains("managedFields"));
  EXPECT_FALSE((*content)["metadata"].contains("resourceVersion"));
  EXPECT_TRUE(IsAsDesired(PluginDaemonSet(), *content));
}

}  // namespace
}  // namespace gantry::gpu_operator
