// SPDX-License-Identifier: Apache-2.0

// How does a container's runtime learn which GPUs the device plugin allocated? By CDI names.
// Without CDI every container runs under NVIDIA's runtime, which finds the GPUs in the container's
// mounts: a variable could come from the image, and would give it every GPU of the node. NVIDIA's
// toolkit accepts variables anyway, so with that one it is as upstream.

#include "operator/desired/device_list.h"

#include "operator/desired/nvidia_pod.h"

namespace gantry::gpu_operator {

std::string DeviceListStrategy(const Context& context) {
  const policy::ClusterPolicy& policy = context.policy;
  if (policy.cdi) {
    return "cdi-annotations,cdi-cri";
  }
  return policy.toolkit.enabled && RunsOurs(context, policy.toolkit) ? "volume-mounts" : "envvar";
}

void BelieveDeviceList(const policy::ClusterPolicy& policy, DaemonSet& toolkit) {
  toolkit.Env("NVIDIA_RUNTIME_SET_AS_DEFAULT", "true");
  toolkit.Env("ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS", "true");
  if (UserEnv(policy.device_plugin, "DEVICE_LIST_STRATEGY").find("envvar") != std::string::npos) {
    toolkit.Env("ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "true");
  }
}

}  // namespace gantry::gpu_operator
