// SPDX-License-Identifier: Apache-2.0

// What does GPU feature discovery run with? The driver, like the device plugin, and the right to
// write a NodeFeature object, from which the node's labels come, and a Device for each GPU.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// Whether a variable or the plugin's configuration may request the labels in a file.
bool MayWriteFile(const policy::ClusterPolicy& policy) {
  return !policy.config_name.empty() ||
         std::ranges::any_of(std::array{"GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"},
                             [&policy](std::string_view name) {
                               return !ParseBool(UserEnv(policy.gfd, name)).value_or(true);
                             });
}

}  // namespace

Objects GpuFeatureDiscovery(const Context& context, const std::string& image) {
  constexpr std::string_view kAccount = "nvidia-gpu-feature-discovery";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = {ServiceAccount(context, kAccount)};
  AddHostRole(
      objects, context, kAccount,
      Json::array({Rule(names::kNfdGroup, "nodefeatures", {"get", "create", "update", "patch"})}));
  // The Node owns the Devices, so they need its uid; the Node's label selects a configuration.
  AddClusterRole(
      objects, context, kAccount,
      Json::array(
          {policy.config_name.empty() ? Rule("", "nodes", {"get"})
                                      : Rule("", "nodes", {"get", "list", "watch"}),
           Rule(names::kGpuNvidiaGroup, "devices", {"list", "create", "patch", "delete"})}));

  DaemonSet set(context, "gpu-feature-discovery", "gpu-feature-discovery", "gpu-feature-discovery",
                image, policy.gfd);
  set.Label("app.kubernetes.io/part-of", "nvidia-gpu");
  set.SelectDeployed("gpu-feature-discovery");
  set.UseServiceAccount(kAccount, true);
  set.Privileged();
  set.Env("GFD_SLEEP_INTERVAL", "60s");
  set.Env("GFD_FAIL_ON_INIT_ERROR", "true");
  set.EnvFromField("NAMESPACE", "metadata.namespace");
  set.EnvFromField("NODE_NAME", "spec.nodeName");
  set.EnvFromField("POD_NAME", "metadata.name");
  set.Env("WAIT_FOR_VALIDATIONS", "driver-ready");
  set.Env(names::kVisibleDevices, "void");
  set.PluginConfig();
  set.MigStrategy();
  set.Env(policy.gfd.env);
  set.HostRoot(true);
  set.ReadsValidations();
  set.DriverRoot();
  set.HostPath("host-sys", "/sys", "/sys", HostDir::kAny, true);
  if (MayWriteFile(policy)) {
    set.HostPath("features-d", names::kFeaturesDir, names::kFeaturesDir, HostDir::kCreate, false);
  }
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
