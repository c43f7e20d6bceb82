// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? Flags and variables are those of NVIDIA's
// k8s-mig-manager. It stops and starts what uses a GPU; here a GPU that is in use stays as it is,
// so that those flags have no effect.
#include "operands/mig_manager/flags.h"

#include <array>

#include "agent/flags.h"
#include "operands/mig_manager/journal.h"
#include "policy/names.h"

namespace gantry::mig_manager {
namespace {

struct Ignored {
  const char* names;
  const char* variable;
};
constexpr std::array kIgnored = std::to_array<Ignored>({
    {"-s,--reconfigure-script", "RECONFIGURE_SCRIPT"},
    {"-m,--host-root-mount", "HOST_ROOT_MOUNT"},
    {"-i,--host-nvidia-dir", "HOST_NVIDIA_DIR"},
    {"-o,--host-mig-manager-state-file", "HOST_MIG_MANAGER_STATE_FILE"},
    {"-k,--host-kubelet-systemd-service", "HOST_KUBELET_SYSTEMD_SERVICE"},
    {"-g,--gpu-clients-file", "GPU_CLIENTS_FILE"},
    {"-r,--with-reboot", "WITH_REBOOT"},
    {"-d,--with-shutdown-host-gpu-clients", "WITH_SHUTDOWN_HOST_GPU_CLIENTS"},
    {"-p,--default-gpu-clients-namespace", "DEFAULT_GPU_CLIENTS_NAMESPACE"},
    {"-t,--driver-root,--nvidia-driver-root", "NVIDIA_DRIVER_ROOT"},
    {"-b,--dev-root,--nvidia-dev-root", "NVIDIA_DEV_ROOT"},
    {"--cdi-enabled", "CDI_ENABLED"},
    {"--nvidia-cdi-hook-path", "NVIDIA_CDI_HOOK_PATH"},
});

void AddUsed(agent::FlagSet& set, Flags& to) {
  set.Value("--kubeconfig", to.kubeconfig, {"KUBECONFIG"}, "empty: in-cluster");
  set.Value("-n,--node-name", to.node_name, {names::kNodeName}, "the Node that this runs on")
      ->required();
  set.Value("-f,--config-file", to.config_file, {"CONFIG_FILE"},
            "layouts; empty: made from what the GPUs report");
  set.Value("--default-config-file", to.default_config_file, {"DEFAULT_CONFIG_FILE"},
            "has the layouts that the GPUs do not report");
  set.Value("-a,--driver-root-ctr-path", to.driver_root, {"DRIVER_ROOT_CTR_PATH"},
            "where the driver's files are (default: as its status file says)");
  set.Value("-j,--dev-root-ctr-path", to.dev_root, {"DEV_ROOT_CTR_PATH"},
            "holds the dev/ to use (default: as the driver's status file says)");
  set.Value("--namespace", to.ns, {"POD_NAMESPACE", "NAMESPACE"}, "of the NodeFeature object");
  set.Value("--pod-resources-socket", to.pod_resources, {}, "the kubelet's")
      ->default_val("/var/lib/kubelet/pod-resources/kubelet.sock");
  set.Value("--journal", to.journal, {"MIG_PARTED_JOURNAL"},
            "keeps the earlier layout while a change lasts")
      ->default_val(DefaultJournal());
  agent::AddStatusFlags(set, to);
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  agent::FlagSet set(kProgram,
                     "Divides the GPUs of this node as its label nvidia.com/mig.config says.");
  Flags flags;
  AddUsed(set, flags);
  for (const Ignored& one : kIgnored) {
    const auto take = [&flags, &one](const std::string& /*text*/) -> Status {
      flags.ignored.emplace_back(one.variable);
      return {};
    };
    set.Custom(one.names, take, {one.variable}, "accepted, no effect");
  }
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  return run ? std::optional(flags) : std::nullopt;
}

}  // namespace gantry::mig_manager
