// SPDX-License-Identifier: Apache-2.0

// Every field of the schemas of ClusterPolicy and NVIDIADriver makes a difference to what is made
// in the cluster, or is named in its status, or is one of those that NVIDIA's operator ignores too.
// The schema is read, so a field that is added to it and forgotten here fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "operator/desired/context.h"
#include "operator/desired/operands.h"
#include "operator/driver_parts_for_tests.h"
#include "operator/driver_plan.h"
#include "operator/mig_holders.h"
#include "operator/node_labels.h"
#include "operator/upgrade/roll_out.h"
#include "policy/names.h"
#include "policy/nvidia_driver.h"
#include "policy/yaml.h"

namespace gantry::gpu_operator {
namespace {

using testing::UnorderedElementsAre;

Json SpecSchema(const std::string& plural) {
  std::ostringstream text;
  text << std::ifstream(format("deploy/chart/crds/nvidia.com_{}.yaml", plural)).rdbuf();
  const auto definition = policy::ParseYaml(text.str());
  CHECK(definition.has_value());
  return (*definition)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
}

// A value of the field that it does not have in the policies below.
Json Sample(const Json& schema, const std::string& path) {
  if (path == "daemonsets.rollingUpdate.maxUnavailable") {
    return "30%";
  }
  if (path.ends_with("imagePullPolicy")) {
    return "Always";
  }
  if (const auto words = schema.find("enum"); words != schema.end()) {
    for (const Json& word : *words) {
      if (word != schema.value("default", Json("")) && word != "kubevirt" && word != "container" &&
          word != "RollingUpdate" && word != "") {
        return word;
      }
    }
    return "";
  }
  const std::string type = TextAt(schema, "type");
  if (type == "boolean") {
    return !schema.value("default", false);
  }
  if (type == "integer" || schema.contains("anyOf")) {
    return 7;
  }
  if (type == "string") {
    return "7s";
  }
  if (type == "array") {
    return Json::array({Sample(schema["items"], path)});
  }
  Json object = Json::object();
  const Json fields = schema.value("properties", Json::object());
  for (const auto& [key, field] : fields.items()) {
    object[key] = Sample(field, path);
  }
  if (schema.contains("additionalProperties")) {
    object["cpu"] = Sample(schema["additionalProperties"], path);
  }
  return object;
}

// "a.b.c" -> a sample, for everything below that is not an object of named fields itself.
void Collect(const Json& schema, const std::string& path, std::map<std::string, Json>& out) {
  if (schema.contains("properties")) {
    for (const auto& [key, field] : schema["properties"].items()) {
      Collect(field, path.empty() ? key : format("{}.{}", path, key), out);
    }
  } else {
    out[path] = Sample(schema, path);
  }
}

Json With(Json spec, const std::string& path, const Json& value) {
  Json* here = &spec;
  for (const std::string& key : Split(path, '.')) {
    here = &(*here)[key];
  }
  *here = *here == value ? Json(false) : value;
  return spec;
}

upgrade::NodeInput UpgradeNode(upgrade::State state, const upgrade::PodFacts& pod) {
  upgrade::NodeInput node;
  node.name = "n";
  node.state = state;
  node.driver.emplace();
  node.driver->judged = node.driver->outdated = true;
  if (upgrade::InProgress(state)) {
    node.pods.emplace();
    node.pods->push_back({{"ns", "p"}, pod});
  }
  return node;
}

// What it comes to for nodes that are at each step of an upgrade.
std::string Upgrades(const policy::ClusterPolicy& policy) {
  using upgrade::State;
  if (!upgrade::IsOn(policy)) {
    return "off";
  }
  const upgrade::PodFacts plain{.managed = true, .uses_gpus = true};
  const upgrade::PodFacts bare{.uses_gpus = true};
  const upgrade::PodFacts scratch{.managed = true, .uses_gpus = true, .has_empty_dir = true};
  std::vector<upgrade::NodeInput> nodes(10, UpgradeNode(State::kRequired, {}));
  nodes.push_back(UpgradeNode(State::kWaitForJobs, plain));
  for (const State state : {State::kPodDeletion, State::kDrain}) {
    for (const upgrade::PodFacts& pod : {plain, bare, scratch}) {
      nodes.push_back(UpgradeNode(state, pod));
    }
  }
  const policy::UpgradePolicy& how = policy.driver_options.upgrade;
  std::string text;
  for (const upgrade::PodQuery& query : upgrade::PodsFor(nodes, {{"", how}}, "ns")) {
    text += format("{} {} {}\n", query.ns, query.labels, query.node);
  }
  const upgrade::RollOutPlan plan = upgrade::RollOut(nodes, how, WallTime());
  for (const upgrade::Change& change : plan.changes) {
    text += format("{} {}\n", upgrade::PatchOf(change).dump(), change.evict.size());
  }
  return text + upgrade::StatusOf(plan).dump();
}

// What it comes to for pods that hold GPUs whose MIG layout is to change.
std::string Holders(const policy::ClusterPolicy& policy) {
  const HeldNode node = {
      .holders = {.layout = "l", .pods = {"ns/bare", "ns/scratch"}, .withdrawn = true},
      .rule = {.spec = policy.gpu_holders, .mistake = ""},
      .before = {},
      .pods = {{{"ns", "bare"}, {}}, {{"ns", "scratch"}, {.managed = true, .has_empty_dir = true}}},
      .seen_since = WallTime(),
      .eviction = {}};
  return DecideHolders(node, WallTime()).step.message;
}

// Everything that a policy comes to.
std::string Outcome(const Json& spec, const OpenShift& openshift = {}) {
  const auto policy = policy::Parse({{"spec", spec}});
  if (!policy.has_value()) {
    return policy.error().message;
  }
  Context context{.policy = *policy,
                  .ns = "ns",
                  .release = {.image = "gantry:1", .driver_manager = "m:1"},
                  .runtime = "containerd",
                  .monitoring = {Served::kYes, Served::kYes},
                  .openshift = openshift,
                  .config_maps = {{"7s", {"key"}}}};
  DivideOn({"ubuntu", "ubuntu22.04", {"6.5"}, {"413.92"}}, context);
  std::string text;
  for (const DesiredOperand& operand : DesiredOperands(context, true)) {
    text += format("{} {} {} {}\n", operand.operand->state, operand.wanted, operand.image.image,
                   operand.mistake);
    for (const Json& object : operand.objects) {
      text += object.dump() + "\n";
    }
  }
  const LabelRules rules = RulesOf(*policy, false);
  return text + format("{} {} {} {} {} {} {}", rules.sandbox, rules.sandbox_mode,
                       rules.default_workload, rules.mig_default, policy->pod_security_labels,
                       Upgrades(*policy), Holders(*policy));
}

// Policies in which every operand runs from an image that it names; what makes no difference in one
// of them may in another.
std::vector<Json> Policies() {
  Json all = {{"sandboxWorkloads", {{"enabled", true}}},
              {"vgpuDeviceManager", {{"config", {{"name", "types"}}}}}};
  for (const char* section :
       {"driver", "toolkit", "devicePlugin", "gfd", "validator", "dcgm", "dcgmExporter",
        "migManager", "nodeStatusExporter", "gds", "gdrcopy", "vgpuManager", "vgpuDeviceManager",
        "vfioManager", "sandboxDevicePlugin", "kataSandboxDevicePlugin", "ccManager"}) {
    all[section].update({{"enabled", true}, {"repository", "r"}, {"image", "i"}, {"version", "v"}});
  }
  all["dcgmExporter"]["serviceMonitor"] = {{"enabled", true}};
  all["operator"]["metrics"]["serviceMonitor"] = {{"enabled", true}};
  Json ours = all;
  for (const char* section : {"toolkit", "devicePlugin", "gfd", "validator", "dcgmExporter",
                              "migManager", "nodeStatusExporter"}) {
    ours[section] = {{"enabled", true}};
  }
  Json kata = all;
  kata["sandboxWorkloads"]["mode"] = "kata";
  Json managers = all;
  for (const char* place :
       {"driver.manager", "vgpuManager.driverManager", "vfioManager.driverManager"}) {
    Json image = {{"repository", "r"}, {"image", "i"}, {"version", "v"}};
    const std::vector<std::string> parts = Split(place, '.');
    managers[parts[0]][parts[1]] = std::move(image);
  }
  managers["dcgm"]["enabled"] = false;
  managers["driver"]["rdma"] = {{"enabled", true}};
  managers["driver"]["licensingConfig"] = {{"secretName", "s"}};
  managers["dcgmExporter"]["hpcJobMapping"] = {{"enabled", true}};
  managers["devicePlugin"]["config"] = {{"name", "c"}};
  Json upgrades = all;
  upgrades["sandboxWorkloads"]["enabled"] = false;
  upgrades["driver"]["upgradePolicy"] = {{"autoUpgrade", true},
                                         {"maxParallelUpgrades", 20},
                                         {"maxUnavailable", "100%"},
                                         {"waitForCompletion", {{"podSelector", "a=b"}}},
                                         {"drain", {{"enable", true}}}};
  upgrades["migManager"]["gpuHolders"] = {{"action", "evict"}};
  return {all, ours, kata, managers, upgrades};
}

TEST(EveryField, MakesADifferenceOrIsNamed) {
  std::map<std::string, Json> fields;
  Collect(SpecSchema("clusterpolicies"), "", fields);
  ASSERT_GT(fields.size(), 300U);
  const std::vector<Json> policies = Policies();
  std::vector<std::string> before;
  for (const Json& policy : policies) {
    before.push_back(Outcome(policy));
  }
  std::set<std::string> silent;
  for (const auto& [path, value] : fields) {
    bool seen = false;
    for (size_t i = 0; i < policies.size() && !seen; ++i) {
      const Json changed = With(policies[i], path, value);
      const auto named = policy::UnsupportedFields({{"spec", changed}});
      seen = Outcome(changed) != before[i] ||
             std::ranges::any_of(named, [&](const std::string& field) {
               return field == path || field.starts_with(path + ".");
             });
    }
    if (!seen) {
      silent.insert(path);
    }
  }
  std::erase_if(silent, [](const std::string& path) {
    // Ignored by NVIDIA's operator too; what only matters with a switch that is named.
    static const std::vector<std::string> kParts = {"kataManager.", "operator.initContainer.",
                                                    "psp."};
    return std::ranges::any_of(kParts,
                               [&](const std::string& part) { return path.starts_with(part); });
  });
  EXPECT_THAT(silent,
              UnorderedElementsAre("cdi.default", "dcgm.hostPort", "driver.useOpenKernelModules",
                                   "gdrcopy.args", "gds.args", "operator.annotations",
                                   "operator.defaultRuntime", "operator.labels",
                                   "operator.use_ocp_driver_toolkit"));
}

TEST(EveryField, TheDriverToolkitIsOpenShifts) {
  OpenShift openshift;
  openshift.version = "4.13";
  openshift.toolkit.emplace();
  const Json on = Policies().front();
  const Json off = With(on, "operator.use_ocp_driver_toolkit", false);
  EXPECT_NE(Outcome(on, openshift), Outcome(off, openshift));
}

// Everything that a NVIDIADriver comes to.
std::string DriverComesTo(const Json& spec) {
  NodeFacts node;
  node.labels =
      format("{}=true\n{}=5\n{}=ubuntu\n{}=22.04\n{}=d\n", names::kGpuPresent,
             names::kKernelVersion, names::kSystemId, names::kSystemVersion, names::kDriverOwner);
  DriversAsked asked;
  asked.objects = {{{"metadata", {{"name", "d"}}}, {"spec", spec}}};
  asked.nodes = {{"n", &node}};
  Context context;
  context.policy = *policy::Parse(Json::object());
  context.ns = "ns";
  context.release.driver_manager = "m:1";
  context.config_maps = {{"7s", {"key"}}};
  const DriverPlan plan = PlanDrivers(asked, context);
  const DriverOutcome& outcome = plan.drivers.front();
  std::string text = format("{} {}\n", outcome.message, plan.owners.claims.front().is_default);
  for (const Json& object : outcome.objects) {
    text += object.dump() + "\n";
  }
  policy::ClusterPolicy upgraded = *policy::Parse({{"spec", {{"driver", {{"image", "i:1"}}}}}});
  upgraded.driver_options.upgrade = outcome.upgrade.value_or(policy::UpgradePolicy());
  return text + Upgrades(upgraded);
}

TEST(EveryField, OfANvidiaDriverToo) {
  std::map<std::string, Json> fields;
  Collect(SpecSchema("nvidiadrivers"), "", fields);
  ASSERT_GT(fields.size(), 100U);
  const Json image = {{"repository", "r"}, {"image", "i"}, {"version", "v"}};
  Json all = image;
  all.update({{"manager", image},
              {"rdma", {{"enabled", true}}},
              {"licensingConfig", {{"secretName", "s"}, {"nlsEnabled", false}}}});
  for (const char* module : {"gds", "gdrcopy"}) {
    all[module] = image;
    all[module]["enabled"] = true;
  }
  Json upgrades = image;
  upgrades["upgradePolicy"] = {{"maxParallelUpgrades", 20},
                               {"maxUnavailable", "100%"},
                               {"waitForCompletion", {{"podSelector", "a=b"}}},
                               {"drain", {{"enable", true}}}};
  const std::vector<Json> specs = {all, upgrades};
  std::set<std::string> silent;
  for (const auto& [path, value] : fields) {
    const std::string top = path.substr(0, path.find('.'));
    const bool seen = std::ranges::any_of(specs, [&](const Json& spec) {
      const Json changed = With(spec, path, value);
      const auto named = policy::UnsupportedDriverFields({{"spec", changed}});
      return DriverComesTo(changed) != DriverComesTo(spec) ||
             std::ranges::find(named, top) != named.end();
    });
    if (!seen) {
      silent.insert(path);
    }
  }
  EXPECT_THAT(silent, UnorderedElementsAre("useOpenKernelModules", "gds.args", "gdrcopy.args"));
}

}  // namespace
}  // namespace gantry::gpu_operator
