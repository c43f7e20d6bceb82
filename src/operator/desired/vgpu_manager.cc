// SPDX-License-Identifier: Apache-2.0

// What does the vGPU manager run with? The user's image of NVIDIA's host driver for virtual GPUs:
// another kind of driver container, on nodes for vm-vgpu.

#include "operator/desired/driver_files.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"

namespace gantry::gpu_operator {

namespace {

constexpr std::string_view kVgpuManager = "nvidia-vgpu-manager";
constexpr std::string_view kMain = "nvidia-vgpu-manager-ctr";

Result<Json> SetFor(const Context& context, const DriverPart& part, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  NvidiaDaemonSet set(context, part.name, kMain, ForSystem(image, context.system),
                      policy.vgpu_manager);
  set.Annotate("openshift.io/scc", kVgpuManager);
  set.AnnotatePods("kubectl.kubernetes.io/default-container", kMain);
  set.SelectNodes(part.nodes);
  MarkSystem(part.nodes, set);
  // Virtual machines run on it.
  set.UpdateOnDelete();
  set.UseServiceAccount(kVgpuManager, true);
  set.HostPid();
  set.PodField("hostIPC", true);
  set.PodField("terminationGracePeriodSeconds", 120);
  set.HostVolume("run-nvidia", "/run/nvidia", HostDir::kCreate);
  set.HostVolume("host-root", policy.host_root);
  set.HostVolume("host-sys", "/sys", HostDir::kDirectory);
  TRY_ASSIGN(Container* const manager,
             set.ManageDriver(policy.vgpu_driver_manager, "vgpuManager.driverManager"));
  manager->Env(policy.vgpu_driver_manager.env);

  Container& main = set.main();
  main.Command({"nvidia-driver"});
  if (policy.vgpu_manager.args.empty()) {
    main.Args({"init"});
  }
  main.PrivilegedAtLevel0().Mount("run-nvidia", "/run/nvidia", kBothWays);
  set.HostPath("host-os-release", "/etc/os-release", "/host-etc/os-release", HostDir::kAny, false);
  set.HostPath("vfio", "/dev/vfio", "/dev/vfio", HostDir::kDirectory, false);
  set.HostPath("cgroup", "/sys/fs/cgroup", "/sys/fs/cgroup", HostDir::kDirectory, false);
  set.HostPath("var-log", "/var/log", "/var/log", HostDir::kDirectory, false);
  set.HostPath("dev-log", "/dev/log", "/dev/log", HostDir::kAny, false);
  set.HostPath("firmware-search-path", "/sys/module/firmware_class/parameters/path",
               "/sys/module/firmware_class/parameters/path", HostDir::kAny, false);
  set.HostPath("nv-firmware", "/run/nvidia/driver/lib/firmware", "/lib/firmware", HostDir::kCreate,
               false);
  TRY(MountKeys(context, set, {&main}, "kernel-module-config", policy.vgpu_kernel_module_config,
                "/drivers", "vgpuManager.kernelModuleConfig.name"));
  if (context.openshift.present()) {
    set.Env("OPENSHIFT_VERSION", context.openshift.version);
  }
  return set.Finish();
}

}  // namespace

Result<Objects> VgpuManager(const Context& context, const std::string& image) {
  Objects objects =
      DriverManagerAccount(context, kVgpuManager, {Rule("apps", "daemonsets", {"get"})});
  for (const DriverPart& part : context.host_drivers.sets) {
    TRY_ASSIGN(Json set, SetFor(ForPart(context, part), part, image));
    objects.push_back(std::move(set));
  }
  return objects;
}

}  // namespace gantry::gpu_operator
