// SPDX-License-Identifier: Apache-2.0

// What restores a node at uninstallation? The container toolkit's program with the same rights, on
// every node that ever had GPUs, whatever its taints. A Ready pod is the node's acknowledgement.

#include "operator/desired/host_cleanup.h"

#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Json HostCleanup(const Context& context) {
  DaemonSet set(context, "nvidia-gpu-operator-cleanup", "cleanup", "gantry host-cleanup",
                context.release.image, {});
  set.SelectNodesWithLabel(names::kGpuPresent);
  set.TolerateEverything();
  // The chart's: it outlives the policy, and on OpenShift it may run privileged pods.
  set.UseServiceAccount("gpu-operator", false);
  set.Privileged();
  set.HostPid();
  set.Env("ROOT", context.policy.install_dir);
  set.Env("HOST_ROOT_MOUNT", "/host");
  set.Env("MPS_ROOT", context.policy.mps_root);
  set.Env("KUBELET_ROOT", context.policy.kubelet_root);
  set.Env(names::kVisibleDevices, "void");
  // Other paths of the container runtime, if the toolkit had any.
  set.Env(context.policy.toolkit.env);
  set.HostRoot(false);
  set.ReadyWhen({"cat", "/tmp/clean"});
  return set.Build();
}

}  // namespace gantry::gpu_operator
