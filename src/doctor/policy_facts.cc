// SPDX-License-Identifier: Apache-2.0
// What do a policy, its status and the device plugin's configurations contain?
#include "doctor/policy_facts.h"

#include <algorithm>

#include "base/text.h"
#include "doctor/object_fields.h"
#include "policy/gpu_cluster.h"
#include "policy/plugin_config.h"

namespace gantry::doctor {
namespace {

// The toolkit's variable: unprivileged containers get the GPUs that their environment names.
constexpr char kImagesCount[] = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED";

// When its spec, or later its metadata, last changed, if its conditions are of an older generation;
// empty: they are of this generation, or have none.
std::string UnseenSince(const Json& policy) {
  long long seen = 0;
  for (const Json& condition : ListAt(policy, "status.conditions")) {
    seen = std::max(seen, IntAt(condition, "observedGeneration", 0));
  }
  if (seen == 0 || seen >= IntAt(policy, "metadata.generation", 0)) {
    return "";
  }
  std::string at;
  for (const Json& entry : ListAt(policy, "metadata.managedFields")) {
    if (TextAt(entry, "subresource").empty()) {
      at = std::max(at, TextAt(entry, "time"));
    }
  }
  return at;
}

UpgradesFacts UpgradesFrom(const Json& told) {
  UpgradesFacts facts{.total = IntAt(told, "total", 0),
                      .done = IntAt(told, "done", 0),
                      .in_progress = IntAt(told, "inProgress", 0),
                      .failed = IntAt(told, "failed", 0),
                      .pending = IntAt(told, "pending", 0),
                      .nodes = {}};
  for (const Json& node : ListAt(told, "nodes")) {
    facts.nodes.push_back({.node = TextAt(node, "name"),
                           .state = TextAt(node, "state"),
                           .since = TextAt(node, "since"),
                           .deadline = TextAt(node, "deadline"),
                           .reason = TextAt(node, "reason"),
                           .next = TextAt(node, "next")});
  }
  return facts;
}

}  // namespace

PolicyFacts PolicyFrom(const Json& object) {
  PolicyFacts facts;
  facts.by_claims = TextAt(object, "kind") == "GPUCluster";
  Json policy = facts.by_claims ? policy::PolicyOf(object, false) : object;
  if (facts.by_claims) {
    for (const char* part : {"kind", "metadata", "status"}) {
      policy[part] = object.value(part, Json());
    }
  }
  facts.object = ObjectName(policy);
  facts.made_at = TextAt(policy, "metadata.creationTimestamp");
  facts.state = TextAt(policy, "status.state");
  facts.conditions = ConditionsOf(policy);
  facts.unseen_since = UnseenSince(policy);
  for (const auto& [path, list] :
       {std::pair("status.unsupportedFields", &facts.unsupported_fields),
        std::pair("status.valuesNotKnown", &facts.values_not_known),
        std::pair("status.valuesNotFollowed", &facts.values_not_followed)}) {
    for (const Json& field : ListAt(policy, path)) {
      if (field.is_string()) {
        list->push_back(field.get<std::string>());
      }
    }
  }
  facts.ns = TextAt(policy, "status.namespace");
  if (const Json* upgrades = At(policy, "status.driverUpgrades"); upgrades != nullptr) {
    facts.upgrades = UpgradesFrom(*upgrades);
  }
  facts.plugin_config = TextAt(policy, "spec.devicePlugin.config.name");
  facts.plugin_default = TextAt(policy, "spec.devicePlugin.config.default");
  if (const Json* toolkit = At(policy, "spec.toolkit"); toolkit != nullptr) {
    facts.opens_by_image = ParseBool(EnvOf(*toolkit, kImagesCount)).value_or(false);
  }
  facts.offers_gpus = BoolAt(policy, "spec.devicePlugin.enabled", true);
  facts.labels_gpus = BoolAt(policy, "spec.gfd.enabled", true);
  facts.installs_toolkit = BoolAt(policy, "spec.toolkit.enabled", true);
  facts.drivers_apart = BoolAt(policy, "spec.driver.enabled", true) &&
                        BoolAt(policy, "spec.driver.useNvidiaDriverCRD", false);
  return facts;
}

std::vector<ConfigFacts> ConfigsFrom(const Json& config_map) {
  std::vector<ConfigFacts> configs;
  for (const auto& [key, text] : TextMap(At(config_map, "data"))) {
    const Result<policy::PluginConfig> parsed = policy::ParsePluginConfig(text);
    configs.push_back({.key = key,
                       .mistake = parsed ? "" : parsed.error().message,
                       .warnings = parsed ? parsed->warnings : std::vector<std::string>()});
  }
  return configs;
}

}  // namespace gantry::doctor
