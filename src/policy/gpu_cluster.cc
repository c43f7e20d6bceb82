// SPDX-License-Identifier: Apache-2.0

// Which ClusterPolicy does a GPUCluster amount to? Its sections are those of a ClusterPolicy, and
// `draDriver` in place of the device plugin. Both kinds are reconciled by the same code.

#include "policy/gpu_cluster.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::policy {
namespace {

// Sections that are taken as they are. The last two are not in NVIDIA's GPUCluster.
constexpr auto kGpuClusterSections = std::to_array<const char*>(
    {"daemonsets", "dcgm", "dcgmExporter", "draDriver", "hostPaths", "gfd", "migManager"});
// Those that a GPUCluster enables by their `enabled` only.
constexpr auto kOnRequestOnly = std::to_array<const char*>({"dcgm", "gfd", "migManager"});

Json& SectionIn(Json& spec, const char* name) {
  Json& section = spec[name];
  if (section.is_null()) {
    section = Json::object();
  }
  return section;
}

void SetDefault(Json& section, const char* field, bool value) {
  if (section.is_object() && At(section, field) == nullptr) {
    section[field] = value;
  }
}

// Fields below a switch that is off ask for nothing.
void DropUnlessOn(Json& parent, const char* key, bool on) {
  if (parent.is_object() && parent.contains(key) && !BoolAt(parent[key], "enabled", on)) {
    parent.erase(key);
  }
}

// Metrics of a claim's GPU name the claim's pod.
void EnableClaims(Json& exporter) {
  constexpr std::string_view kVariable = "KUBERNETES_ENABLE_DRA";
  if (!exporter.is_object()) {
    return;
  }
  Json& env = exporter["env"];
  if (env.is_null()) {
    env = Json::array();
  }
  if (env.is_array() && std::ranges::none_of(env, [&](const Json& variable) {
        return TextAt(variable, "name") == kVariable;
      })) {
    env.push_back({{"name", kVariable}, {"value", "true"}});
  }
}

}  // namespace

Json PolicyOf(const Json& gpu_cluster, bool drivers) {
  Json spec = Json::object();
  for (const char* name : kGpuClusterSections) {
    if (const Json* section = At(gpu_cluster, {"spec", name}); section != nullptr) {
      spec[name] = *section;
    }
  }
  Json& dra_driver = SectionIn(spec, "draDriver");
  if (dra_driver.is_object()) {
    dra_driver["enabled"] = true;
    DropUnlessOn(dra_driver, "computeDomains", false);
    if (At(dra_driver, "gpus.kubeletPlugin") != nullptr) {
      DropUnlessOn(dra_driver["gpus"]["kubeletPlugin"], "healthcheck", true);
    }
  }
  SetDefault(SectionIn(spec, "dcgmExporter"), "enabled",
             At(gpu_cluster, "spec.dcgmExporter") != nullptr);
  EnableClaims(spec["dcgmExporter"]);
  for (const char* name : kOnRequestOnly) {
    SetDefault(SectionIn(spec, name), "enabled", false);
  }
  spec["driver"] = {{"enabled", drivers}, {"useNvidiaDriverCRD", drivers}};
  spec["devicePlugin"] = {{"enabled", false}};
  spec["toolkit"] = {{"enabled", false}};
  return {{"apiVersion", format("{}/v1", names::kNvidiaGroup)},
          {"kind", "ClusterPolicy"},
          {"metadata", {{"name", TextAt(gpu_cluster, "metadata.name")}}},
          {"spec", std::move(spec)}};
}

}  // namespace gantry::policy
