// SPDX-License-Identifier: Apache-2.0

// What does the device plugin run with? The kubelet's plugin directory, the driver in the host's
// root or the driver container's, and the directory of CDI documents. An update starts the new pod
// beside the old one, so that the kubelet always has a plugin and allocatable never drops.

#include "base/text.h"
#include "operator/desired/device_list.h"
#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

namespace {

// Kubernetes' folder of device plugins does not depend on the kubelet's root, but a distribution
// with its own root may have moved it. Neither folder is created: the plugin checks both.
void FindKubelet(const policy::ClusterPolicy& policy, DaemonSet& set) {
  if (policy.kubelet_root == names::kKubeletRoot) {
    set.HostPath("device-plugin", names::kDevicePluginDir, names::kDevicePluginDir,
                 HostDir::kDirectory, false);
    return;
  }
  constexpr std::string_view kHere = "/kubelet-host";
  set.HostVolume("kubelet-host", "/", HostDir::kDirectory);
  set.main().Mount("kubelet-host", kHere, kFromHost);
  set.Env("KUBELET_HOST_ROOT", kHere);
  set.Env("KUBELET_ROOT", policy.kubelet_root);
}

}  // namespace

Objects DevicePlugin(const Context& context, const std::string& image) {
  constexpr std::string_view kAccount = "nvidia-device-plugin";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = {ServiceAccount(context, kAccount)};
  AddHostRole(objects, context, kAccount);
  // A Node condition shows whether its GPUs are in service.
  Json rules = Json::array(
      {Rule("", "events", {"create", "patch", "update"}), Rule("", "nodes/status", {"patch"})});
  if (policy.config_name.empty()) {
    rules.push_back(Rule("", "nodes", {"get"}));
  } else {
    // The Node's label selects a configuration.
    rules.push_back(Rule("", "nodes", {"get", "list", "watch"}));
  }
  AddClusterRole(objects, context, kAccount, std::move(rules));

  DaemonSet set(context, "nvidia-device-plugin-daemonset", "nvidia-device-plugin",
                "nvidia-device-plugin", image, policy.device_plugin);
  set.SelectDeployed("device-plugin");
  set.UseServiceAccount(kAccount, true);
  set.Privileged();
  set.SurgeOnUpdate();
  set.EnvFromField("NODE_NAME", "spec.nodeName");
  set.EnvFromField("POD_NAME", "metadata.name");
  set.EnvFromField("NAMESPACE", "metadata.namespace");
  set.Env("WAIT_FOR_VALIDATIONS",
          policy.toolkit.enabled ? "driver-ready,toolkit-ready" : "driver-ready");
  set.Env("PASS_DEVICE_SPECS", "true");
  set.Env("FAIL_ON_INIT_ERROR", "true");
  set.Env("DEVICE_LIST_STRATEGY", DeviceListStrategy(context));
  set.Env("DEVICE_ID_STRATEGY", "uuid");
  set.Env(names::kVisibleDevices, "void");
  set.Env("MPS_ROOT", policy.mps_root);
  if (policy.gds.enabled) {
    set.Env("GDS_ENABLED", "true");
    set.Env("MOFED_ENABLED", "true");
  }
  if (policy.gdrcopy.enabled) {
    set.Env("GDRCOPY_ENABLED", "true");
  }
  if (policy.cuda.enabled) {
    set.Env("CUDA_CDI_DEVICE", format("{}={}", names::kCudaCdiKind, names::kCudaDefaultDevice));
  }
  set.PluginConfig();
  set.MigStrategy();
  if (policy.cdi) {
    set.Env("CDI_ENABLED", "true");
    set.Env("CDI_ANNOTATION_PREFIX", "cdi.k8s.io/");
    if (policy.toolkit.enabled) {
      set.Env("NVIDIA_CDI_HOOK_PATH", policy.install_dir + "/toolkit/nvidia-cdi-hook");
    }
  }
  set.Env(policy.device_plugin.env);
  FindKubelet(policy, set);
  set.ReadsValidations();
  set.DriverRoot();
  set.HostRoot(true);
  set.HostPath("cdi-root", names::kCdiDir, names::kCdiDir, HostDir::kCreate, false);
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
