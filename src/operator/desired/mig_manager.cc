// SPDX-License-Identifier: Apache-2.0

// What does the MIG manager run with? NVIDIA's image: it divides GPUs by the node's label
// nvidia.com/mig.config and a table of layouts, and stops their users meanwhile. The table and the
// list of users are ConfigMaps, the defaults unless the policy names others.

#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/mig_layouts.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kMigManager = "nvidia-mig-manager";
constexpr std::string_view kScript = "nvidia-mig-manager-entrypoint";
constexpr std::string_view kDefaultLayouts = "default-mig-parted-config";
constexpr std::string_view kDefaultClients = "default-gpu-clients";

// Host services are stopped only if the driver is the host's.
constexpr std::string_view kEntrypoint =
    "#!/bin/sh\n"
    "set -e\n"
    "set -a\n"
    ". /run/nvidia/validations/driver-ready\n"
    "WITH_SHUTDOWN_HOST_GPU_CLIENTS=$IS_HOST_DRIVER\n"
    "exec nvidia-mig-manager\n";

// Host services that may hold a GPU.
constexpr std::string_view kClients =
    "version: v1\n"
    "systemd-services:\n"
    "- nvsm.service\n"
    "- nvsm-mqtt.service\n"
    "- nvsm-core.service\n"
    "- nvsm-api-gateway.service\n"
    "- nvsm-notifier.service\n"
    "- nv_peer_mem.service\n"
    "- nvidia-dcgm.service\n"
    "- dcgm.service\n"
    "- dcgm-exporter.service\n";

// Releases before v0.14 generate no layouts themselves. A digest, or a user's own tag, counts as a
// later one.
bool NeedsTable(std::string_view image) {
  constexpr std::string_view kMajor = "v0.";
  const std::string_view tag = image.substr(image.rfind(':') + 1);
  if (!tag.starts_with(kMajor)) {
    return false;
  }
  const std::string_view minor = tag.substr(kMajor.size());
  return ParseInt(minor.substr(0, minor.find('.'))).value_or(14) < 14;
}

void AddTables(const Context& context, const std::string& image, Objects& objects,
               NvidiaDaemonSet& set) {
  const policy::ClusterPolicy& policy = context.policy;
  // Older charts set the default's own name.
  if (policy.mig_config.empty() || policy.mig_config == kDefaultLayouts) {
    objects.push_back(ConfigMap(context, kDefaultLayouts, "", {{"config.yaml", MigLayouts()}}));
    set.Volume("mig-parted-config", "configMap",
               {{"name", kDefaultLayouts},
                {"items", {{{"key", "config.yaml"}, {"path", "config-default.yaml"}}}}});
    set.Env(NeedsTable(image) ? "CONFIG_FILE" : "DEFAULT_CONFIG_FILE",
            "/mig-parted-config/config-default.yaml");
  } else {
    set.Volume("mig-parted-config", "configMap", {{"name", policy.mig_config}});
    set.Env("CONFIG_FILE", "/mig-parted-config/config.yaml");
  }
  std::string clients = policy.gpu_clients;
  if (clients.empty() || clients == kDefaultClients) {
    clients = kDefaultClients;
    objects.push_back(ConfigMap(context, clients, "", {{"clients.yaml", kClients}}));
  }
  set.Volume("gpu-clients", "configMap", {{"name", clients}});
  set.main().Mount("mig-parted-config", "/mig-parted-config").Mount("gpu-clients", "/gpu-clients");
}

}  // namespace

Result<Objects> MigManager(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = NvidiaAccount(
      context, kMigManager,
      {Rule("", "pods", {"get", "list", "watch", "delete"}),
       Rule("", "configmaps", {"create", "get", "list", "update", "patch"})},
      {Rule("", "nodes", {"get", "list", "watch", "update", "patch"}), Rule("", "pods", {"list"})});
  objects.push_back(ConfigMap(context, kScript, kMigManager, {{"entrypoint.sh", kEntrypoint}}));

  NvidiaDaemonSet set(context, kMigManager, kMigManager, image, policy.mig_manager);
  set.SelectDeployed("mig-manager");
  set.UseServiceAccount(kMigManager, true);
  set.HostPid();
  set.PodField("hostIPC", true);
  set.UseNvidiaRuntime(kMigManager);
  set.AwaitToolkit();
  set.Privileged();
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.EnvFromField("POD_NAME", "metadata.name");
  set.EnvFromField("POD_NAMESPACE", "metadata.namespace");
  set.Env("GPU_CLIENTS_FILE", "/gpu-clients/clients.yaml");
  set.EnvFromField("DEFAULT_GPU_CLIENTS_NAMESPACE", "metadata.namespace");
  set.RunScript(kScript);
  set.WritesValidations();
  set.HostPath("host-sys", "/sys", "/sys", HostDir::kDirectory, false);
  set.HostRoot(false);
  AddTables(context, image, objects, set);
  set.HostVolume("driver-install-dir", policy.driver_install_dir, HostDir::kCreate);
  set.main().Mount("driver-install-dir", "/driver-root", kFromHost);
  set.HostPath("cdi-root", names::kCdiDir, names::kCdiDir, HostDir::kCreate, false);
  if (policy.cdi) {
    set.Env("CDI_ENABLED", "true");
    set.Env("NVIDIA_CDI_HOOK_PATH", policy.install_dir + "/toolkit/nvidia-cdi-hook");
  }
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
