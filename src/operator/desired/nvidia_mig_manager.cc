// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own MIG manager run with, if the policy names its image? It stops what uses
// the GPUs while it divides them; the list of that is a ConfigMap, the default unless the policy
// names another.

#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/mig_manager.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kScript = "nvidia-mig-manager-entrypoint";
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

void AddClients(const Context& context, Objects& objects, NvidiaDaemonSet& set) {
  std::string clients = context.policy.gpu_clients;
  if (clients.empty() || clients == kDefaultClients) {
    clients = kDefaultClients;
    objects.push_back(ConfigMap(context, clients, "", {{"clients.yaml", kClients}}));
  }
  set.Volume("gpu-clients", "configMap", {{"name", clients}});
  set.main().Mount("gpu-clients", "/gpu-clients");
}

}  // namespace

Result<Objects> NvidiaMigManager(const Context& context, const std::string& image) {
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
  AddMigLayouts(context, NeedsTable(image) ? "CONFIG_FILE" : "DEFAULT_CONFIG_FILE", objects, set);
  AddClients(context, objects, set);
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
