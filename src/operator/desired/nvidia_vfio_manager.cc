// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's VFIO manager run with? Its image binds every GPU of a node for
// vm-passthrough to vfio-pci, and unbinds them when its pod ends. Before it, the driver manager
// removes a driver from the node.

#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/image.h"

namespace gantry::gpu_operator {

Result<Objects> NvidiaVfioManager(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-vfio-manager";
  // Before 25.10 NVIDIA's operator ran its own script there.
  if (policy::ImageName(image) == "cuda") {
    return Fail(ErrorKind::kInvalid,
                "spec.vfioManager.image: cuda has no vfio-manage; name k8s-driver-manager");
  }
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = DriverManagerAccount(context, kName);

  NvidiaDaemonSet set(context, kName, kName, image, policy.vfio_manager);
  set.SelectPodsBy("name", kName);
  set.SelectDeployed("vfio-manager");
  set.UseServiceAccount(kName, true);
  set.PodField("terminationGracePeriodSeconds", 30);
  set.HostVolume("run-nvidia", "/run/nvidia", HostDir::kCreate);
  set.HostVolume("host-root", policy.host_root, HostDir::kDirectory);
  set.HostVolume("host-sys", "/sys", HostDir::kDirectory);
  TRY_ASSIGN(Container* const manager,
             set.ManageDriver(policy.vfio_driver_manager, "vfioManager.driverManager"));
  manager->Env(policy.vfio_driver_manager.env);
  Container& main = set.main();
  main.Command({"/bin/sh", "-c"});
  if (policy.vfio_manager.args.empty()) {
    main.Args({"vfio-manage bind --all && while :; do sleep 86400; done"});
  }
  if (policy.vfio_manager.resources.is_null()) {
    main.Set("resources", {{"limits", {{"memory", "200Mi"}}},
                           {"requests", {{"cpu", "100m"}, {"memory", "200Mi"}}}});
  }
  main.PrivilegedAtLevel0()
      .Env("HOST_ROOT", "/host")
      .Mount("host-sys", "/sys")
      .Mount("host-root", "/host")
      .BeforeStop({"/bin/sh", "-c", "vfio-manage unbind --all"});
  set.HostPath("host-lib-modules", "/lib/modules", "/lib/modules", HostDir::kDirectory, true);
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
