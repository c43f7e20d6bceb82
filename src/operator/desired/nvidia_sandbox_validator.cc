// SPDX-License-Identifier: Apache-2.0

// How does NVIDIA's image validate a node for virtual machines? By the validator's components for
// such a node, one init container each; each writes a status file when its part works. A component
// that the node's workload does not need succeeds at once.

#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

Result<Objects> NvidiaSandboxValidator(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-sandbox-validator";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = NvidiaAccount(context, kName, {}, {Rule("", "nodes", {"get"})});

  NvidiaDaemonSet set(context, kName, kName, image, policy.validator);
  set.Label("app.kubernetes.io/part-of", "gpu-operator");
  set.SelectDeployed("sandbox-validator");
  set.UseServiceAccount(kName, true);
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.HostVolume("driver-install-path", policy.driver_install_dir);
  set.HostVolume("host-root", policy.host_root, HostDir::kDirectory);
  const auto check = [&](const char* component) -> Container& {
    return set.Validate(component, image, true)
        .EnvFromField(names::kNodeName, "spec.nodeName")
        .EnvFromField(names::kOperatorNamespace, "metadata.namespace");
  };
  const auto with_host = [&](const char* component) -> Container& {
    return check(component).AtLevel0().Mount("host-root", "/host", kFromHostReadOnly);
  };
  constexpr const char* kWorkload = "DEFAULT_GPU_WORKLOAD_CONFIG";
  const policy::Operand& cc_manager = policy::OperandOf(policy::OperandId::kCcManager);
  if (policy::Wanted(cc_manager, policy) && policy::CanRun(cc_manager, policy)) {
    check("cc-manager").AtLevel0();
  }
  with_host("vfio-pci").Env(kWorkload, policy.default_workload).Env(policy.validator_vfio_pci_env);
  with_host("vgpu-manager")
      .Mount("driver-install-path", "/run/nvidia/driver", kFromHost)
      .Env(kWorkload, policy.default_workload)
      .Env(policy.validator_vgpu_manager_env);
  check("vgpu-devices")
      .Env(kWorkload, policy.default_workload)
      .Env(policy.validator_vgpu_devices_env);
  set.StayValidated("/run/nvidia/validations/*");
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
