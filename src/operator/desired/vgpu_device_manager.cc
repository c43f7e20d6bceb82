// SPDX-License-Identifier: Apache-2.0

// What does the vGPU device manager run with? NVIDIA's image: it makes virtual GPUs by the node's
// label nvidia.com/vgpu.config and a table of vGPU types. The table is the user's ConfigMap: its
// types depend on the user's licence and GPUs.

#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Result<Objects> VgpuDeviceManager(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-vgpu-device-manager";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = NvidiaAccount(context, kName, {Rule("", "pods", {"get", "list", "watch"})},
                                  {Rule("config.openshift.io", "clusterversions", {"get", "list"}),
                                   Rule("", "nodes", {"get", "list", "watch", "update"})});

  NvidiaDaemonSet set(context, kName, kName, image, policy.vgpu_device_manager);
  set.Annotate("openshift.io/scc", kName);
  set.SelectDeployed("vgpu-device-manager");
  set.UseServiceAccount(kName, true);
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.Await("vgpu-manager-validation",
            {"--any", names::kVgpuManagerReady, names::kHostVgpuManagerReady});
  set.Privileged();
  set.EnvFromField("NAMESPACE", "metadata.namespace");
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.Env("CONFIG_FILE", "/vgpu-config/config.yaml");
  set.Env("DEFAULT_VGPU_CONFIG", policy.vgpu_default);
  set.Volume("vgpu-config", "configMap", {{"name", policy.vgpu_config}});
  set.main().Mount("vgpu-config", "/vgpu-config");
  set.HostPath("host-sys", "/sys", "/sys", HostDir::kDirectory, false);
  set.HostRoot(false);
  set.HostVolume("driver-install-dir", policy.driver_install_dir, HostDir::kCreate);
  set.main().Mount("driver-install-dir", "/driver-root", kFromHost);
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
