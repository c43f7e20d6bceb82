// SPDX-License-Identifier: Apache-2.0

// What does the container toolkit run with? It puts programs and CDI documents on the host and
// edits the container runtime's configuration, so it gets the host's root, writable, and its
// processes. It makes no API requests.

#include "operator/desired/device_list.h"
#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

Objects ContainerToolkit(const Context& context, const std::string& image) {
  constexpr std::string_view kAccount = "nvidia-container-toolkit";
  const policy::ClusterPolicy& policy = context.policy;
  DaemonSet set(context, "nvidia-container-toolkit-daemonset", "nvidia-container-toolkit-ctr",
                "nvidia-toolkit", image, policy.toolkit);
  set.SelectDeployed("container-toolkit");
  set.UseServiceAccount(kAccount, false);
  set.Privileged();
  set.HostPid();
  set.Env("ROOT", policy.install_dir);
  set.Env("HOST_ROOT_MOUNT", "/host");
  set.Env("DRIVER_INSTALL_DIR", policy.driver_install_dir);
  if (!policy::DriversInContainers(policy)) {
    set.Env("WITH_DRIVER_CONTAINER", "false");
  }
  set.Env("NVIDIA_CONTAINER_RUNTIME_MODES_CDI_DEFAULT_KIND", names::kManagementCdiKind);
  set.Env(names::kVisibleDevices, "void");
  if (policy.cdi) {
    set.Env("CDI_ENABLED", "true");
    set.Env("NVIDIA_RUNTIME_SET_AS_DEFAULT", "false");
    set.Env("NVIDIA_CONTAINER_RUNTIME_MODE", "cdi");
    set.Env("CRIO_CONFIG_MODE", "config");
    if (policy.nri) {
      set.Env("ENABLE_NRI_PLUGIN", "true");
      set.Env("NRI_NAMESPACE", context.ns);
    }
  } else {
    BelieveDeviceList(policy, set);
  }
  set.Env("RUNTIME", context.runtime);
  if (context.runtime == "containerd") {
    set.Env("CONTAINERD_RUNTIME_CLASS", policy.runtime_class);
  }
  set.Env(policy.toolkit.env);
  set.HostRoot(false);
  Objects objects = {ServiceAccount(context, kAccount)};
  AddHostRole(objects, context, kAccount);
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
