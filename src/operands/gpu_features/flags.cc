// SPDX-License-Identifier: Apache-2.0
// Which flags and variables does feature discovery have? Flags, aliases and variables of NVIDIA's
// gpu-feature-discovery (k8s-device-plugin v0.20), and those of its config manager, which select a
// configuration: this process does that itself.
#include "operands/gpu_features/flags.h"

#include "agent/flags.h"
#include "policy/names.h"

namespace gantry::gpu_features {
namespace {

void AddLabelFlags(agent::FlagSet& set, Flags& to) {
  set.Value("--mig-strategy", to.mig_strategy, {"GFD_MIG_STRATEGY", "MIG_STRATEGY"},
            "none, single or mixed");
  set.Bool("--fail-on-init-error", to.fail_on_init_error,
           {"GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"},
           "with --oneshot: a missing driver is an error; without, it is waited for either way");
  set.Bool("--oneshot", to.oneshot, {"GFD_ONESHOT"}, "label once and end");
  set.Bool("--no-timestamp", to.no_timestamp, {"GFD_NO_TIMESTAMP"}, "no timestamp label");
  set.Value("--sleep-interval", to.sleep_interval, {"GFD_SLEEP_INTERVAL"},
            "ask the driver anew after this long (60s); 0 or infinite: only on events");
  set.Value("--output-file,--output,-o", to.output_file, {"GFD_OUTPUT_FILE"},
            "empty: standard output");
  set.Value("--machine-type-file", to.machine_type_file, {"GFD_MACHINE_TYPE_FILE"}, "");
  set.Bool("--use-node-feature-api", to.use_node_feature_api,
           {"GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"},
           "publish a NodeFeature object instead of a file");
  set.Value("--device-discovery-strategy", to.device_discovery_strategy,
            {"DEVICE_DISCOVERY_STRATEGY"}, "auto, nvml or vfio");
  set.Value("--driver-root-ctr-path,--container-driver-root", to.driver_root_ctr_path,
            {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
            "where the driver root is mounted here (default: as the driver's status file says)");
}

void AddPlaceFlags(agent::FlagSet& set, Flags& to) {
  set.Value("--kubeconfig", to.kubeconfig, {"KUBECONFIG"}, "");
  set.Value("--namespace", to.ns, {"NAMESPACE"}, "of the NodeFeature object");
  agent::AddConfigFlags(set, to, {"GFD_CONFIG_FILE", "CONFIG_FILE"});
  agent::AddStatusFlags(set, to);
  set.Value("--sys-root", to.sys_root, {"SYS_ROOT"}, "where the host's sysfs is mounted here")
      ->default_val("/sys");
  set.Value("--host-root", to.host_root, {"HOST_ROOT"}, "where the host's files are mounted here")
      ->default_val("/host");
}

// Upstream's flags without effect here: no client is throttled, no pod owns an object.
void AddUnused(agent::FlagSet& set) {
  set.Unused("--kube-api-qps", {"KUBE_API_QPS"});
  set.Unused("--kube-api-burst", {"KUBE_API_BURST"});
  set.Unused("--pod-name", {"POD_NAME"});
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  agent::FlagSet set(kProgram, "Describes the GPUs of this node in labels.");
  Flags flags;
  AddLabelFlags(set, flags);
  AddPlaceFlags(set, flags);
  AddUnused(set);
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  return run ? std::optional(flags) : std::nullopt;
}

}  // namespace gantry::gpu_features
