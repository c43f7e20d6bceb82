// SPDX-License-Identifier: Apache-2.0

#include "operator/adopt.h"

#include <gtest/gtest.h>

#include <functional>

#include "operator/desired/context.h"
#include "operator/desired/makers.h"
#include "operator/plan.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr char kImage[] = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0";

policy::ClusterPolicy Policy(const Json& plugin = Json::object()) {
  Json section = {{"repository", "nvcr.io/nvidia"},
                  {"image", "k8s-device-plugin"},
                  {"version", "v0.20.0"},
                  {"config", {{"name", "slices"}, {"default", "a"}}}};
  section.update(plugin);
  auto policy = policy::Parse({{"spec",
                                {{"devicePlugin", section},
                                 {"daemonsets", {{"labels", {{"helm.sh/chart", "theirs-1"}}}}}}}});
  EXPECT_TRUE(policy.has_value());
  return *std::move(policy);
}

Json Desired(const policy::ClusterPolicy& policy, const std::string& image = "localhost/gantry:1",
             const std::string& plugin = kImage) {
  const Context context{.policy = policy,
                        .ns = "gpu-operator",
                        .release = {.image = image},
                        .owners = Json::array({{{"kind", "ClusterPolicy"}, {"uid", "1"}}})};
  const auto objects = NvidiaDevicePlugin(context, plugin);
  EXPECT_TRUE(objects.has_value());
  return objects->back();
}

// The same as NVIDIA's operator makes it: it waits and starts in words of its own, and has a
// variable that ours has not.
Json Theirs(const policy::ClusterPolicy& policy = Policy()) {
  Json set = Desired(policy);
  set["metadata"]["annotations"] = {{names::kLastAppliedHash, "7"}};
  set["metadata"]["labels"].erase(names::kManagedBy);
  Json& pod = set["spec"]["template"]["spec"];
  pod["initContainers"][0]["image"] = "nvcr.io/nvidia/gpu-operator:v26";
  pod["initContainers"][0]["command"] = {"sh", "-c"};
  pod["containers"][0]["env"].push_back({{"name", "THEIRS"}, {"value", "1"}});
  pod["dnsPolicy"] = "ClusterFirst";
  set["status"] = {{"numberReady", 1}};
  return set;
}

TEST(Adopt, ADaemonSetThatIsAsAskedForKeepsItsTemplate) {
  const Json theirs = Theirs();
  const Json desired = Desired(Policy());
  const Json kept = InPlaceOf(desired, theirs);
  EXPECT_EQ(kept["spec"], theirs["spec"]);
  const Json written = Replacement(kept, theirs);
  EXPECT_EQ(written["spec"], theirs["spec"]);
  EXPECT_EQ(written["metadata"]["labels"][names::kManagedBy], names::kManagedByGantry);
  const Json& annotations = written["metadata"]["annotations"];
  EXPECT_EQ(annotations[names::kLastAppliedHash], "7");
  EXPECT_EQ(annotations[names::kAdopted], desired["metadata"]["annotations"][names::kRendering]);
  EXPECT_FALSE(annotations.contains(names::kRendering));
  // From then on there is nothing to write.
  EXPECT_TRUE(MakePlan({desired}, {{KeyOfObject(written), written}}, {}).empty());
  // Nor after a restart by hand.
  Json restarted = written;
  restarted["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] =
      "now";
  EXPECT_TRUE(MakePlan({desired}, {{KeyOfObject(restarted), restarted}}, {}).empty());
}

// op#433: a node of another system comes to where NVIDIA's operator was.
TEST(Adopt, ADriverForOtherNodesKeepsTheRestOfItsTemplate) {
  Json theirs = Theirs();
  theirs["spec"]["updateStrategy"] = {{"type", "OnDelete"}};
  Json desired = Desired(Policy());
  desired["spec"]["updateStrategy"] = {{"type", "OnDelete"}};
  const Json before = Replacement(InPlaceOf(desired, theirs), theirs);
  desired["metadata"]["labels"][names::kDriverSystem] = "s";
  desired["spec"]["template"]["spec"]["nodeSelector"][names::kDriverSystem] = "s";
  const Json after = Replacement(InPlaceOf(desired, before), before);
  Json pods = theirs["spec"]["template"];
  pods["spec"]["nodeSelector"][names::kDriverSystem] = "s";
  EXPECT_EQ(after["spec"]["template"], pods);
  EXPECT_EQ(after["metadata"]["annotations"][names::kNarrowed], "true");
  EXPECT_TRUE(MakePlan({desired}, {{KeyOfObject(after), after}}, {}).empty());
}

TEST(Adopt, AnotherReleaseOrChartChangesNothing) {
  const Json adopted = Replacement(InPlaceOf(Desired(Policy()), Theirs()), Theirs());
  auto policy = Policy();
  policy.pod_labels["helm.sh/chart"] = "ours-2";
  policy.pod_labels[names::kManagedBy] = "somebody";
  EXPECT_EQ(InPlaceOf(Desired(policy, "localhost/gantry:2"), adopted)["spec"], adopted["spec"]);
}

TEST(Adopt, WhatThePolicyAsksForLaterIsDoneInOurWay) {
  const Json adopted = Replacement(InPlaceOf(Desired(Policy()), Theirs()), Theirs());
  // One that MeetsPolicy alone would not see: something is asked for no longer.
  const auto before = Policy({{"env", {{{"name", "THEIRS"}, {"value", "1"}}}}});
  const Json with = Replacement(InPlaceOf(Desired(before), Theirs()), Theirs());
  const Json desired = Desired(Policy());
  EXPECT_TRUE(MeetsPolicy(desired, with));
  EXPECT_EQ(InPlaceOf(desired, with), desired);
  const Json written = Replacement(desired, with);
  EXPECT_FALSE(written["metadata"]["annotations"].contains(names::kAdopted));
  EXPECT_TRUE(IsAsDesired(desired, written));
  // Once it is ours, it is never left to them again.
  EXPECT_EQ(InPlaceOf(Desired(Policy(), "localhost/gantry:2"), written)["spec"],
            Desired(Policy(), "localhost/gantry:2")["spec"]);
  EXPECT_NE(adopted["spec"], written["spec"]);
}

// The validator's main container says in words of its own that all is well.
TEST(Adopt, AScriptIsItsWritersOwn) {
  auto policy = Policy();
  const Context context{.policy = policy,
                        .ns = "gpu-operator",
                        .release = {.image = "localhost/gantry:1"},
                        .owners = Json::array({{{"uid", "1"}}})};
  const Json desired = NvidiaOperatorValidator(context, "nvcr.io/nvidia/gpu-operator:v26")->back();
  Json theirs = desired;
  theirs["spec"]["template"]["spec"]["containers"][0]["args"] = {"echo theirs; sleep infinity"};
  EXPECT_TRUE(MeetsPolicy(desired, theirs));
  theirs["spec"]["template"]["spec"]["initContainers"][0]["args"] = {"other"};
  EXPECT_FALSE(MeetsPolicy(desired, theirs));
}

TEST(Adopt, OtherKindsAreReplaced) {
  Json role = {{"kind", "Role"}, {"metadata", {{"annotations", {{names::kLastAppliedHash, "7"}}}}}};
  Json theirs = role;
  theirs["rules"] = 1;
  EXPECT_EQ(InPlaceOf(role, theirs), role);
}

struct Case {
  const char* name;
  std::function<void(Json& set)> edit;  // of what NVIDIA's operator made
};

class NotAsAskedFor : public testing::TestWithParam<Case> {};

TEST_P(NotAsAskedFor, IsReplaced) {
  Json theirs = Theirs();
  EXPECT_TRUE(MeetsPolicy(Desired(Policy()), theirs));
  GetParam().edit(theirs);
  EXPECT_FALSE(MeetsPolicy(Desired(Policy()), theirs));
  EXPECT_EQ(InPlaceOf(Desired(Policy()), theirs), Desired(Policy()));
}

Json& Pod(Json& set) { return set["spec"]["template"]["spec"]; }
Json& Main(Json& set) { return Pod(set)["containers"][0]; }

INSTANTIATE_TEST_SUITE_P(
    Adopt, NotAsAskedFor,
    testing::Values(
        Case{"image", [](Json& set) { Main(set)["image"] = "other"; }},
        Case{"image_of_an_init_container",
             [](Json& set) { Pod(set)["initContainers"][1]["image"] = "other"; }},
        Case{"pull_policy", [](Json& set) { Main(set)["imagePullPolicy"] = "Always"; }},
        Case{"resources", [](Json& set) { Main(set)["resources"] = {{"limits", {{"cpu", 1}}}}; }},
        Case{"a_variable", [](Json& set) { Main(set)["env"][0]["value"] = "other"; }},
        Case{"a_missing_variable", [](Json& set) { Main(set)["env"].erase(0); }},
        Case{"env_from", [](Json& set) { Main(set)["envFrom"] = {{{"secretRef", 1}}}; }},
        Case{"a_missing_mount", [](Json& set) { Main(set)["volumeMounts"].erase(0); }},
        Case{"another_config_map",
             [](Json& set) {
               for (Json& volume : Pod(set)["volumes"]) {
                 if (volume["name"] == "slices") {
                   volume["configMap"]["name"] = "other";
                 }
               }
             }},
        Case{"a_missing_volume", [](Json& set) { Pod(set)["volumes"].clear(); }},
        Case{"a_missing_container", [](Json& set) { Pod(set)["containers"].erase(1); }},
        Case{"another_container",
             [](Json& set) { Pod(set)["containers"].push_back({{"name", "more"}}); }},
        Case{"nodes", [](Json& set) { Pod(set)["nodeSelector"]["more"] = "x"; }},
        Case{"tolerations", [](Json& set) { Pod(set)["tolerations"] = Json::array(); }},
        Case{"priority", [](Json& set) { Pod(set)["priorityClassName"] = "other"; }},
        Case{"host_network", [](Json& set) { Pod(set)["hostNetwork"] = true; }},
        Case{"runtime_class", [](Json& set) { Pod(set)["runtimeClassName"] = "other"; }},
        Case{"security_context", [](Json& set) { Pod(set)["securityContext"] = {{"fsGroup", 1}}; }},
        Case{"a_label",
             [](Json& set) { set["spec"]["template"]["metadata"]["labels"]["app"] = "x"; }},
        Case{"update_strategy",
             [](Json& set) { set["spec"]["updateStrategy"] = {{"type", "OnDelete"}}; }},
        Case{"max_unavailable",
             [](Json& set) {
               set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 2;
             }}),
    [](const auto& one) { return one.param.name; });

TEST(Adopt, WhatIsAskedForTooMustBeThere) {
  const Json theirs = Theirs();
  const auto meets = [&](const Json& plugin) {
    return MeetsPolicy(Desired(Policy(plugin)), theirs);
  };
  EXPECT_TRUE(meets(Json::object()));
  EXPECT_FALSE(meets({{"args", {"--x"}}}));
  EXPECT_FALSE(meets({{"env", {{{"name", "X"}, {"value", "1"}}}}}));
  EXPECT_FALSE(meets({{"imagePullSecrets", {"secret"}}}));
  EXPECT_FALSE(MeetsPolicy(Desired(Policy(), "localhost/gantry:1", "other:1"), theirs));
  auto policy = Policy();
  policy.pod_annotations["mine"] = "1";
  EXPECT_FALSE(MeetsPolicy(Desired(policy), theirs));
}

}  // namespace
}  // namespace gantry::gpu_operator
