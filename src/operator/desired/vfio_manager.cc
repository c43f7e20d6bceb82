// SPDX-License-Identifier: Apache-2.0

// What does the VFIO manager run with? The host's sysfs, by which it binds GPUs, its processes, of
// which it spares those with a GPU, and its modprobe. It writes files beside the status files.

#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// For the users of GPUs to end, once a node is not for virtual machines any more.
constexpr int kPatienceSeconds = 600;

}  // namespace

Objects VfioManager(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-vfio-manager";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = {ServiceAccount(context, kName)};
  AddHostRole(objects, context, kName);
  // Its Node's label says whether the GPUs are to be given back.
  AddClusterRole(
      objects, context, kName,
      Json::array({Rule("", "nodes", {"get"}), Rule("", "events", {"create", "patch", "update"})}));

  DaemonSet set(context, kName, kName, "vfio-manage manage", image, policy.vfio_manager);
  // As in NVIDIA's operator: a DaemonSet's selector can't be changed.
  set.SelectPodsBy("name", kName);
  set.SelectDeployed("vfio-manager");
  set.UseServiceAccount(kName, true);
  set.PodField("terminationGracePeriodSeconds", kPatienceSeconds);
  set.main().PrivilegedAtLevel0();
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.Env("HOST_ROOT", "/host");
  set.Env(names::kVisibleDevices, "void");
  set.Env(policy.vfio_manager.env);
  set.HostPath("host-sys", "/sys", "/sys", HostDir::kDirectory, false);
  set.HostRoot(true);
  set.WritesValidations();
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
