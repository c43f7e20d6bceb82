// SPDX-License-Identifier: Apache-2.0

// What does the MIG manager run with? The driver, whose GPUs it divides, the kubelet's list of the
// pods that use them, and the table of layouts. It writes a NodeFeature object, from which the
// node's label nvidia.com/mig.config.state comes, and a file while a change lasts.

#include "operator/desired/mig_manager.h"

#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/mig_layouts.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

void AddMigLayouts(const Context& context, std::string_view default_variable, Objects& objects,
                   DaemonSet& set) {
  constexpr std::string_view kDefaultLayouts = "default-mig-parted-config";
  constexpr std::string_view kVolume = "mig-parted-config";
  constexpr std::string_view kFolder = "/mig-parted-config";
  const std::string& named = context.policy.mig_config;
  // Older charts set the default's own name.
  if (named.empty() || named == kDefaultLayouts) {
    constexpr std::string_view kFile = "config-default.yaml";
    objects.push_back(ConfigMap(context, kDefaultLayouts, "", {{"config.yaml", MigLayouts()}}));
    set.Volume(kVolume, "configMap",
               {{"name", kDefaultLayouts}, {"items", {{{"key", "config.yaml"}, {"path", kFile}}}}});
    set.Env(default_variable, format("{}/{}", kFolder, kFile));
  } else {
    set.Volume(kVolume, "configMap", {{"name", named}});
    set.Env("CONFIG_FILE", format("{}/config.yaml", kFolder));
  }
  set.main().Mount(kVolume, kFolder);
}

Objects MigManager(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = {ServiceAccount(context, kMigManager)};
  AddHostRole(
      objects, context, kMigManager,
      Json::array({Rule(names::kNfdGroup, "nodefeatures", {"get", "create", "update", "patch"})}));
  // Its Node's label names the layout.
  AddClusterRole(objects, context, kMigManager,
                 Json::array({Rule("", "nodes", {"get", "list", "watch"}),
                              Rule("", "events", {"create", "patch", "update"})}));

  DaemonSet set(context, kMigManager, kMigManager, kMigManager, image, policy.mig_manager);
  set.SelectDeployed("mig-manager");
  set.UseServiceAccount(kMigManager, true);
  // NVML names users of a GPU by the host's process ids.
  set.HostPid();
  set.Privileged();
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.EnvFromField("POD_NAMESPACE", "metadata.namespace");
  set.Env("WAIT_FOR_VALIDATIONS", names::kDriverReady);
  set.Env(names::kVisibleDevices, "void");
  AddMigLayouts(context, "DEFAULT_CONFIG_FILE", objects, set);
  set.Env(policy.mig_manager.env);
  // Writable, as the driver's own program that resets a GPU finds it on the host.
  set.HostRoot(false);
  set.HostVolume("driver-install-dir", policy.driver_install_dir, HostDir::kCreate);
  set.main().Mount("driver-install-dir", "/driver-root", kFromHost);
  set.WritesValidations();
  set.HostVolume("pod-gpu-resources", policy.kubelet_root + "/pod-resources", HostDir::kDirectory);
  set.main().Mount("pod-gpu-resources", "/var/lib/kubelet/pod-resources", kReadOnly);
  objects.push_back(set.Build());
  return objects;
}

}  // namespace gantry::gpu_operator
