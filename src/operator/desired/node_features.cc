// SPDX-License-Identifier: Apache-2.0

// What does node feature discovery run with? It runs on every Linux node, whatever its taints,
// unless the chart's values say otherwise, because it detects a node's GPUs. It reads a few files
// of the host and writes one NodeFeature object, so it needs no privileges on the host.

#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// `pod`: the chart's values node-feature-discovery.worker for its pods, under their names.
void FollowValues(const Json& pod, DaemonSet& set) {
  for (const char* key : {"affinity", "tolerations", "priorityClassName"}) {
    if (const Json* value = At(pod, key); value != nullptr && !value->is_null()) {
      set.PodField(key, *value);
    }
  }
  if (const Json* resources = At(pod, "resources"); resources != nullptr && !resources->empty()) {
    set.main().Set("resources", *resources);
  }
  Json selector = {{"kubernetes.io/os", "linux"}};
  if (const Json* chosen = At(pod, "nodeSelector"); chosen != nullptr && chosen->is_object()) {
    selector.update(*chosen);
  }
  set.SelectNodes(std::move(selector));
  if (const Json* annotations = At(pod, "annotations"); annotations != nullptr) {
    for (const auto& [key, value] : annotations->items()) {
      if (value.is_string()) {
        set.AnnotatePods(key, value.get<std::string>());
      }
    }
  }
}

}  // namespace

Objects NodeFeatures(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-node-feature-discovery-worker";
  Objects objects = {ServiceAccount(context, kName)};
  AddHostRole(
      objects, context, kName,
      Json::array({Rule(names::kNfdGroup, "nodefeatures", {"get", "create", "update", "patch"})}));

  DaemonSet set(context, kName, "nfd-worker", "nfd-worker", image, {});
  set.TolerateEverything();
  FollowValues(context.release.worker_pod, set);
  set.UseServiceAccount(kName, true);
  set.Unprivileged();
  set.EnvFromField("NODE_NAME", "spec.nodeName");
  set.EnvFromField("KUBERNETES_NAMESPACE", "metadata.namespace");
  set.EnvFromField("NAMESPACE", "metadata.namespace");
  if (!context.release.worker_config.empty()) {
    set.Env("NFD_WORKER_CONFIG", context.release.worker_config);
  }
  set.HostPath("host-sys", "/sys", "/host-sys", HostDir::kAny, true);
  set.HostPath("host-os-release", "/etc/os-release", "/host-etc/os-release", HostDir::kAny, true);
  set.HostPath("host-boot", "/boot", "/host-boot", HostDir::kAny, true);
  set.HostPath("host-lib", "/lib/modules", "/host-lib/modules", HostDir::kAny, true);
  // Where other programs on the node put files with labels, and with rules.
  set.HostPath("features-d", names::kFeaturesDir, names::kFeaturesDir, HostDir::kCreate, true);
  set.HostPath("custom-d", names::kCustomRulesDir, names::kCustomRulesDir, HostDir::kCreate, true);
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
