// SPDX-License-Identifier: Apache-2.0
// Which flags and variables does the device plugin have? Flags, aliases and variables are NVIDIA's
// (k8s-device-plugin v0.20, cmd/nvidia-device-plugin and cmd/config-manager); the config manager's
// are included because this process selects its configuration itself.
#include "operands/device_plugin/flags.h"

#include "agent/flags.h"
#include "container/cdi.h"

namespace gantry::device_plugin {
namespace {

void AddFileFlags(agent::FlagSet& set, Flags& to) {
  set.Value("--mig-strategy", to.mig_strategy, {"MIG_STRATEGY"}, "none, single or mixed");
  set.Bool("--fail-on-init-error", to.fail_on_init_error, {"FAIL_ON_INIT_ERROR"},
           "end with an error when the driver can't be used; otherwise wait");
  set.Value("--driver-root,--nvidia-driver-root", to.driver_root, {"NVIDIA_DRIVER_ROOT"},
            "root of the driver on the host");
  set.Value("--dev-root,--nvidia-dev-root", to.dev_root, {"NVIDIA_DEV_ROOT"},
            "folder on the host that holds dev/ (default: the driver root)");
  set.Bool("--pass-device-specs", to.pass_device_specs, {"PASS_DEVICE_SPECS"},
           "name device nodes to the kubelet");
  set.List("--device-list-strategy", to.device_list_strategy, {"DEVICE_LIST_STRATEGY"},
           "envvar, volume-mounts, cdi-annotations, cdi-cri");
  set.Value("--device-id-strategy", to.device_id_strategy, {"DEVICE_ID_STRATEGY"}, "uuid or index");
  set.Bool("--gdrcopy-enabled", to.gdrcopy_enabled, {"GDRCOPY_ENABLED"},
           "give containers /dev/gdrdrv");
  set.Bool("--gds-enabled", to.gds_enabled, {"GDS_ENABLED"},
           "give containers what GPUDirect Storage needs");
  set.Bool("--mofed-enabled", to.mofed_enabled, {"MOFED_ENABLED"},
           "give containers the InfiniBand devices");
  set.Value("--cdi-annotation-prefix", to.cdi_annotation_prefix, {"CDI_ANNOTATION_PREFIX"}, "");
  set.Value("--nvidia-cdi-hook-path,--nvidia-ctk-path", to.cdi_hook_path,
            {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
            "path on the host of the program that CDI documents name");
  set.Value("--driver-root-ctr-path,--container-driver-root", to.driver_root_ctr_path,
            {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
            "where the driver root is mounted here");
  set.Value("--mps-root", to.mps_root, {"MPS_ROOT"},
            "folder on the host that the MPS control daemon uses");
  set.Value("--shared-devices-allocation-policy", to.shared_devices_allocation_policy,
            {"SHARED_DEVICES_ALLOCATION_POLICY"}, "distributed or packed");
  set.Value("--device-discovery-strategy", to.device_discovery_strategy,
            {"DEVICE_DISCOVERY_STRATEGY"}, "auto, nvml or tegra");
  set.List("--imex-channel-ids", to.imex_channel_ids, {"IMEX_CHANNEL_IDS"},
           "IMEX channels that every container gets: none, or 0");
  set.Bool("--imex-required", to.imex_required, {"IMEX_REQUIRED"},
           "a missing IMEX channel is an error");
}

void AddOwnFlags(agent::FlagSet& set, Flags& to) {
  set.Value("--kubelet-socket", to.kubelet_socket, {"KUBELET_SOCKET"},
            "empty: serve without registering");
  set.Value("--kubelet-root", to.kubelet_root, {"KUBELET_ROOT"},
            "the kubelet's --root-dir, on the host");
  set.Value("--kubelet-host-root", to.kubelet_host_root, {"KUBELET_HOST_ROOT"},
            "where the host's root is mounted here, to look for the kubelet's socket in "
            "Kubernetes' folder and below its root");
  agent::AddConfigFlags(set, to, {"CONFIG_FILE"});
  agent::AddStatusFlags(set, to);
  set.List("--cdi-disable-hooks", to.cdi_disable_hooks, {"CDI_DISABLE_HOOKS"}, "");
  set.List("--cdi-feature-flags", to.cdi_feature_flags, {"CDI_FEATURE_FLAGS"}, "");
  set.Value("--cdi-dir", to.cdi_dir, {}, "")->default_val(names::kCdiDir);
  set.Value("--cuda-cdi-device", to.cuda_cdi_device, {"CUDA_CDI_DEVICE"},
            "CDI device of a CUDA toolkit that comes with every GPU")
      ->check(CLI::Validator(
          [](const std::string& name) {
            return container::ParseCdiName(name) ? std::string()
                                                 : "is not <vendor>/<class>=<device>: " + name;
          },
          "NAME"));
  set.Value("--host-root", to.host_root, {"HOST_ROOT"}, "where the host's root is mounted here")
      ->default_val("/host");
  // Health checks only have variables.
  set.Value("--disable-health-checks", to.disable_health_checks, {"DP_DISABLE_HEALTHCHECKS"}, "");
  set.Value("--enable-health-checks", to.enable_health_checks, {"DP_ENABLE_HEALTHCHECKS"}, "");
}

// Flags of NVIDIA's config manager, a process beside the plugin that links the chosen file into
// place and signals the plugin. The plugin chooses itself and needs no signal, so flags about the
// signal are checked, but have no effect.
void AddConfigManagerFlags(agent::FlagSet& set, Flags& to) {
  set.Value("--kubeconfig", to.kubeconfig, {"KUBECONFIG"}, "empty: the pod's service account");
  set.UnusedBool("--oneshot", {"ONESHOT"});
  set.UnusedBool("--send-signal", {"SEND_SIGNAL"});
  set.Unused<int>("--signal", {"SIGNAL"});
  set.Unused("--process-to-signal", {"PROCESS_TO_SIGNAL"});
  set.Unused("--config-file-dst", {"CONFIG_FILE_DST"});
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  agent::FlagSet set(kPluginName, "Offers the GPUs of this node to its kubelet.");
  Flags flags;
  AddFileFlags(set, flags);
  AddOwnFlags(set, flags);
  AddConfigManagerFlags(set, flags);
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  return run ? std::optional(flags) : std::nullopt;
}

}  // namespace gantry::device_plugin
