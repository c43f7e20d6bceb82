// SPDX-License-Identifier: Apache-2.0

// What do NVIDIA's device plugins for virtual machines run with? There are two images, one for
// KubeVirt and one for Kata: they offer GPUs bound to vfio-pci, or virtual GPUs, so they wait until
// the validator has found these.

#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

Objects Account(const Context& context, const std::string& name) {
  return NvidiaAccount(
      context, name,
      {Rule("", "pods", {"create", "get", "list", "watch", "delete"}),
       Rule(names::kNfdGroup, "nodefeatures", {"create", "get", "list", "watch", "update"})},
      {Rule("config.openshift.io", "clusterversions", {"get", "list"}), Rule("", "nodes", {"get"}),
       Rule("", "pods", {"get"})});
}

void Fill(const std::string& name, NvidiaDaemonSet& set) {
  set.Annotate("openshift.io/scc", name);
  set.UseServiceAccount(name, true);
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.Await("vfio-pci-validation", {"--workload", "vm-passthrough", names::kVfioPciReady});
  set.Privileged();
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.EnvFromField("POD_NAMESPACE", "metadata.namespace");
  set.HostPath("device-plugin", names::kDevicePluginDir, names::kDevicePluginDir,
               HostDir::kDirectory, false);
  set.HostPath("cdi-root", names::kCdiDir, names::kCdiDir, HostDir::kCreate, false);
}

}  // namespace

Result<Objects> NvidiaSandboxDevicePlugin(const Context& context, const std::string& image) {
  const std::string name = "nvidia-sandbox-device-plugin";
  Objects objects = Account(context, name);
  NvidiaDaemonSet set(context, name + "-daemonset", name + "-ctr", image,
                      context.policy.sandbox_device_plugin);
  set.SelectDeployed("sandbox-device-plugin");
  Fill(name, set);
  set.Await("vgpu-devices-validation", {"--workload", "vm-vgpu", names::kVgpuDevicesReady});
  set.HostPath("vfio", "/dev/vfio", "/dev/vfio", HostDir::kAny, false);
  objects.push_back(set.Finish());
  return objects;
}

Result<Objects> KataSandboxDevicePlugin(const Context& context, const std::string& image) {
  const std::string name = "nvidia-kata-sandbox-device-plugin";
  Objects objects = Account(context, name);
  NvidiaDaemonSet set(context, name + "-daemonset", name + "-ctr", image,
                      context.policy.kata_device_plugin);
  set.SelectDeployed("kata-sandbox-device-plugin");
  Fill(name, set);
  set.EnvFromField("POD_SERVICE_ACCOUNT", "spec.serviceAccountName");
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
