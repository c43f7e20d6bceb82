// SPDX-License-Identifier: Apache-2.0

// What does the MPS control daemon run with? It starts a program of the driver, so it gets the
// driver root like the device plugin, and the folder in which clients find it. Its pods run on
// nodes that GPU feature discovery labels mps.capable. Upstream makes a service account for it and
// then uses the device plugin's.

#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Objects MpsControlDaemon(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-device-plugin-mps-control-daemon";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = {ServiceAccount(context, kName)};
  AddHostRole(objects, context, kName);
  Json rules = Json::array({Rule("", "events", {"create", "patch", "update"})});
  if (!policy.config_name.empty()) {
    // The Node's label selects a configuration.
    rules.push_back(Rule("", "nodes", {"get", "list", "watch"}));
  }
  AddClusterRole(objects, context, kName, std::move(rules));

  // The section's arguments and variables are the plugin's.
  policy::OperandSpec spec = policy.device_plugin;
  spec.args.clear();
  DaemonSet set(context, kName, "mps-control-daemon-ctr", "mps-control-daemon", image, spec);
  set.SelectNodes({{std::string(names::kDeployPrefix).append("device-plugin"), "true"},
                   {names::kMpsCapable, "true"}});
  set.UseServiceAccount(kName, true);
  set.Privileged();
  // The daemon identifies its clients by process id.
  set.HostPid();
  set.EnvFromField("NODE_NAME", "spec.nodeName");
  set.Env("WAIT_FOR_VALIDATIONS", names::kDriverReady);
  set.Env(names::kVisibleDevices, "void");
  set.Env(names::kDriverCapabilities, "compute,utility");
  set.PluginConfig();
  set.MigStrategy();
  set.SharedHostPath("mps-root", policy.mps_root, "/mps");
  set.ReadsValidations();
  set.DriverRoot();
  set.HostRoot(true);
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
