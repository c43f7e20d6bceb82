// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own device plugin run with, if the policy names its image? A shell script
// reads the driver's location from driver-ready, and a second program selects its configuration.

#include "base/text.h"
#include "operator/desired/device_list.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kPluginName = "nvidia-device-plugin";
constexpr std::string_view kPluginSet = "nvidia-device-plugin-daemonset";
constexpr std::string_view kPluginScript = "nvidia-device-plugin-entrypoint";

constexpr std::string_view kPluginEntrypoint =
    "#!/bin/sh\n"
    "set -e\n"
    "set -a\n"
    ". /run/nvidia/validations/driver-ready\n"
    "loaded() { [ -d /sys/module/$1 ]; }\n"
    "if loaded gdrdrv; then : \"${GDRCOPY_ENABLED:=true}\"; fi\n"
    "if loaded nvidia_fs; then : \"${GDS_ENABLED:=true}\" \"${MOFED_ENABLED:=true}\"; fi\n"
    "exec nvidia-device-plugin\n";

}  // namespace

Result<Objects> NvidiaDevicePlugin(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects =
      NvidiaAccount(context, kPluginName, {}, {Rule("", "nodes", {"get", "list", "watch"})});
  objects.push_back(
      ConfigMap(context, kPluginScript, kPluginSet, {{"entrypoint.sh", kPluginEntrypoint}}));

  NvidiaDaemonSet set(context, kPluginSet, kPluginName, image, policy.device_plugin);
  set.Annotate("openshift.io/scc", "hostmount-anyuid");
  set.SelectDeployed("device-plugin");
  set.UseServiceAccount(kPluginName, true);
  set.UseNvidiaRuntime(kPluginName);
  set.AwaitToolkit();
  set.Privileged();
  set.Env("PASS_DEVICE_SPECS", "true");
  set.Env("FAIL_ON_INIT_ERROR", "true");
  set.Env("DEVICE_LIST_STRATEGY", DeviceListStrategy(context));
  set.Env("DEVICE_ID_STRATEGY", "uuid");
  set.Env(names::kVisibleDevices, "all");
  set.Env(names::kDriverCapabilities, "all");
  set.Env("MPS_ROOT", policy.mps_root);
  if (policy.gds.enabled) {
    set.Env("GDS_ENABLED", "true");
    set.Env("MOFED_ENABLED", "true");
  }
  if (policy.gdrcopy.enabled) {
    set.Env("GDRCOPY_ENABLED", "true");
  }
  set.RunScript(kPluginScript);
  set.HostPath("device-plugin", names::kDevicePluginDir, names::kDevicePluginDir,
               HostDir::kDirectory, false);
  set.WritesValidations();
  set.HostVolume("driver-install-dir", policy.driver_install_dir, HostDir::kCreate);
  set.main().Mount("driver-install-dir", "/driver-root", kFromHost);
  set.HostRoot(true);
  set.HostPath("cdi-root", names::kCdiDir, names::kCdiDir, HostDir::kCreate, false);
  set.HostPath("mps-shm", policy.mps_root + "/shm", "/dev/shm", HostDir::kAny, false);
  set.HostPath("mps-root", policy.mps_root, "/mps", HostDir::kCreate, false);
  set.ManageConfig(kPluginName);
  set.MigStrategy();
  if (policy.cdi) {
    set.Env("CDI_ENABLED", "true");
    set.Env("CDI_ANNOTATION_PREFIX", "cdi.k8s.io/");
    if (policy.toolkit.enabled) {
      set.Env("NVIDIA_CDI_HOOK_PATH", policy.install_dir + "/toolkit/nvidia-cdi-hook");
    }
  }
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
