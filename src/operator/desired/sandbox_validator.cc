// SPDX-License-Identifier: Apache-2.0

// What does the validator of a node for virtual machines run with? One container keeps the status
// files of all components, as on a node for containers, and writes a changed verdict to the API
// server. A component that the node's workload does not need has no file.

#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

Objects SandboxValidator(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-sandbox-validator";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = {ServiceAccount(context, kName)};
  AddHostRole(
      objects, context, kName,
      Json::array({Rule(names::kNfdGroup, "nodefeatures", {"get", "create", "update", "patch"})}));
  // Its Node's label names the workload.
  AddClusterRole(objects, context, kName,
                 Json::array({Rule("", "nodes", {"get", "list", "watch"}),
                              Rule("", "events", {"create", "patch", "update"})}));

  DaemonSet set(context, kName, kName, "nvidia-validator", image, policy.validator);
  set.Label("app.kubernetes.io/part-of", "gpu-operator");
  set.SelectDeployed("sandbox-validator");
  set.UseServiceAccount(kName, true);
  set.main().PrivilegedAtLevel0();
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.EnvFromField(names::kOperatorNamespace, "metadata.namespace");
  set.Env("PUBLISH", "true");
  set.Env(names::kVisibleDevices, "void");
  const policy::Operand& cc_manager = policy::OperandOf(policy::OperandId::kCcManager);
  const bool cc = policy::Wanted(cc_manager, policy) && policy::CanRun(cc_manager, policy);
  set.Env("SANDBOX_COMPONENTS", cc ? "cc-manager,vfio-pci,vgpu-manager,vgpu-devices"
                                   : "vfio-pci,vgpu-manager,vgpu-devices");
  set.Env("DEFAULT_GPU_WORKLOAD_CONFIG", policy.default_workload);
  // Host paths.
  set.Env("HOST_ROOT", policy.host_root);
  set.Env("DRIVER_INSTALL_DIR", policy.driver_install_dir);
  set.Env(policy.validator_vfio_pci_env);
  set.Env(policy.validator_vgpu_manager_env);
  set.Env(policy.validator_vgpu_devices_env);
  set.Env(policy.validator.env);
  set.HostRoot(true);
  set.WritesValidations();
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
