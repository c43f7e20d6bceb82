// SPDX-License-Identifier: Apache-2.0

// What does the validator run with? It checks the host's driver, the toolkit's files, and the
// kubelet's list of devices, and writes the status files that the other operands wait for. It
// writes a changed verdict to the API server, in one NodeFeature object and an event. It is
// privileged because, before there is a CDI document, the device cgroup denies GPUs to unprivileged
// containers.

#include "base/paths.h"
#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

Objects OperatorValidator(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-operator-validator";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = {ServiceAccount(context, kName)};
  AddHostRole(
      objects, context, kName,
      Json::array({Rule(names::kNfdGroup, "nodefeatures", {"get", "create", "update", "patch"})}));
  AddClusterRole(objects, context, kName,
                 Json::array({Rule("", "events", {"create", "patch", "update"})}));

  DaemonSet set(context, kName, kName, "nvidia-validator", image, policy.validator);
  set.Label("app.kubernetes.io/part-of", "gpu-operator");
  set.SelectDeployed("operator-validator");
  set.UseServiceAccount(kName, true);
  set.Privileged();
  set.EnvFromField("NODE_NAME", "spec.nodeName");
  set.EnvFromField("OPERATOR_NAMESPACE", "metadata.namespace");
  set.Env("PUBLISH", "true");
  set.Env(names::kVisibleDevices, "void");
  // Host paths.
  set.Env("HOST_ROOT", policy.host_root);
  set.Env("DRIVER_INSTALL_DIR", policy.driver_install_dir);
  set.Env("KUBELET_ROOT", policy.kubelet_root);
  set.Env("TOOLKIT_ROOT", policy.install_dir);
  set.Env("CDI_ENABLED", policy.cdi ? "true" : "false");
  set.MigStrategy();
  if (!policy::DriversInContainers(policy)) {
    set.Env("WITH_DRIVER_CONTAINER", "false");
  }
  if (!policy.toolkit.enabled) {
    set.Env("WITH_TOOLKIT", "false");
  }
  if (!policy.device_plugin.enabled) {
    set.Env("WITH_PLUGIN", "false");
  }
  set.Env(policy.validator_driver_env);
  set.Env(policy.validator_toolkit_env);
  set.Env(policy.validator_cuda_env);
  set.Env(policy.validator_plugin_env);
  set.Env(policy.validator.env);
  set.HostRoot(true);
  set.WritesValidations();
  set.HostPath("host-dev-char", JoinPath(policy.host_root, "/dev/char"), "/host-dev-char",
               HostDir::kAny, false);
  set.HostPath("pod-resources", policy.kubelet_root + "/pod-resources",
               "/var/lib/kubelet/pod-resources", HostDir::kDirectory, true);
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
