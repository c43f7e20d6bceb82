// SPDX-License-Identifier: Apache-2.0

// What does the device plugin for virtual machines run with? The kubelet's folder of plugins, and
// the host's device nodes. It asks no API server, and waits for no other operand: devices are
// offered when they appear.

#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Objects SandboxDevicePlugin(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-sandbox-device-plugin";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = {ServiceAccount(context, kName)};
  AddHostRole(objects, context, kName);

  DaemonSet set(context, "nvidia-sandbox-device-plugin-daemonset",
                "nvidia-sandbox-device-plugin-ctr", "nvidia-kubevirt-gpu-device-plugin", image,
                policy.sandbox_device_plugin);
  set.SelectDeployed("sandbox-device-plugin");
  set.UseServiceAccount(kName, false);
  set.Privileged();
  set.SurgeOnUpdate();
  set.Env("HOST_ROOT", "/host");
  set.Env(names::kVisibleDevices, "void");
  set.Env(policy.sandbox_device_plugin.env);
  set.HostRoot(true);
  set.HostPath("device-plugin", names::kDevicePluginDir, names::kDevicePluginDir,
               HostDir::kDirectory, false);
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
