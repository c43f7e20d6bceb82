// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own MPS control daemon run with, if the device plugin's image is NVIDIA's? It
// is a program of that image, and another of its programs mounts the folder that its clients share.

#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Result<Objects> NvidiaMpsControlDaemon(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-device-plugin-mps-control-daemon";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects =
      NvidiaAccount(context, kName, {}, {Rule("", "nodes", {"get", "list", "watch"})});

  // The section's arguments and variables are the plugin's.
  policy::OperandSpec spec = policy.device_plugin;
  spec.args.clear();
  spec.env.clear();
  NvidiaDaemonSet set(context, kName, "mps-control-daemon-ctr", image, spec);
  set.Annotate("openshift.io/scc", "hostmount-anyuid");
  set.SelectNodes({{std::string(names::kDeployPrefix).append("device-plugin"), "true"},
                   {names::kMpsCapable, "true"}});
  set.UseServiceAccount(kName, true);
  set.HostPid();
  set.UseNvidiaRuntime("mps-control-daemon-ctr");
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.AwaitToolkit();
  set.AddInit("mps-control-daemon-mounts", image)
      .Command({"mps-control-daemon", "mount-shm"})
      .Privileged()
      .Mount("mps-root", "/mps", kBothWays);
  set.main().Command({"mps-control-daemon"}).Privileged();
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.Env(names::kVisibleDevices, "all");
  set.Env(names::kDriverCapabilities, "compute,utility");
  set.HostPath("mps-shm", policy.mps_root + "/shm", "/dev/shm", HostDir::kAny, false);
  set.HostPath("mps-root", policy.mps_root, "/mps", HostDir::kCreate, false);
  set.ManageConfig("/usr/bin/mps-control-daemon");
  set.MigStrategy();
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
