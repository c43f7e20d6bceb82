// SPDX-License-Identifier: Apache-2.0

// What does the validator run with? It looks at the host's driver, what the toolkit installed, and
// the kubelet's list of devices, and writes the status files that the other operands wait for. It
// never talks to the API server.

#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Objects OperatorValidator(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-operator-validator";
  const policy::ClusterPolicy& policy = context.policy;
  DaemonSet set(context, kName, kName, "nvidia-validator", image, policy.validator);
  set.Label("app.kubernetes.io/part-of", "gpu-operator");
  set.SelectDeployed("operator-validator");
  set.UseServiceAccount(kName, false);
  set.Privileged();
  set.EnvFromField("NODE_NAME", "spec.nodeName");
  set.EnvFromField("OPERATOR_NAMESPACE", "metadata.namespace");
  set.Env(names::kVisibleDevices, "void");
  // Where things are, as the host spells it.
  set.Env("HOST_ROOT", policy.host_root);
  set.Env("DRIVER_INSTALL_DIR", policy.driver_install_dir);
  set.Env("KUBELET_ROOT", policy.kubelet_root);
  set.Env("TOOLKIT_ROOT", policy.install_dir);
  set.Env("CDI_ENABLED", policy.cdi ? "true" : "false");
  set.Env("DRIVER_INSTALL_DIR", policy.driver_install_dir);
  set.Env("KUBELET_ROOT", policy.kubelet_root);
  set.Env("CDI_ENABLED", policy.cdi ? "true" : "false");
  set.MigStrategy();
  if (!policy.toolkit.enabled) {
    set.Env("WITH_TOOLKIT", "false");
  }
  if (!policy.device_plugin.enabled) {
    set.Env("WITH_PLUGIN", "false");
  }
  set.Env(policy.validator_stage_env);
  set.Env(policy.validator.env);
  set.HostRoot(true);
  set.Validations();
  set.HostPath("pod-resources", policy.kubelet_root + "/pod-resources",
               "/var/lib/kubelet/pod-resources", HostDir::kAny, true);
  return {ServiceAccount(context, kName), set.Build()};
}

}  // namespace gantry::gpu_operator
