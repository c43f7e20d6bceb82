// SPDX-License-Identifier: Apache-2.0
// What should this validator do? NVIDIA's flags and environment variables (manifests set them); a
// flag wins over its variable.
#include "operands/validator/flags.h"

#include <algorithm>
#include <array>

#include "agent/flags.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

// NVIDIA's manifests set them; a check without pods does not need them.
void AddUnused(agent::FlagSet& set) {
  set.UnusedBool("-l,--with-workload", {"WITH_WORKLOAD"});
  set.Unused("-m,--mig-strategy", {"MIG_STRATEGY"});
  set.Unused("--driver-install-dir-ctr-path", {"DRIVER_INSTALL_DIR_CTR_PATH"});
}

void AddWhat(agent::FlagSet& set, Flags& flags) {
  set.Value("-c,--component", flags.component, {"COMPONENT"},
            "check this one and exit: driver, toolkit, cuda, plugin, nvidia-fs, gdrcopy, "
            "nvidia-peermem, mofed, vfio-pci, vgpu-manager, vgpu-devices, cc-manager; metrics "
            "serves what was found; without it, check this node until stopped");
  set.List("--sandbox-components", flags.sandbox, {"SANDBOX_COMPONENTS"},
           "without component: check these of a node for virtual machines until stopped");
  set.Bool("-w,--with-wait", flags.with_wait, {"WITH_WAIT"}, "wait until the component is ready");
  set.Value("-s,--sleep-interval-seconds", flags.sleep_seconds, {"SLEEP_INTERVAL_SECONDS"},
            "with --with-wait: seconds until what tells no changes is looked at again")
      ->check(CLI::Range(1, 3600));
  set.Bool("-r,--cleanup-all", flags.cleanup_all, {"CLEANUP_ALL"},
           "empty the output directory first");
  set.Bool("--driver-validation-skip-gpu-init", flags.skip_gpu_init,
           {"DRIVER_VALIDATION_SKIP_GPU_INIT"}, "look at the driver's files only, do not ask it");
  set.Bool("--disable-dev-char-symlink-creation", flags.no_dev_char,
           {"DISABLE_DEV_CHAR_SYMLINK_CREATION"},
           "make no links to NVIDIA's device nodes in the host's /dev/char");
  set.Bool("--with-driver-container", flags.with_driver_container, {"WITH_DRIVER_CONTAINER"},
           "what lies in the driver's folder counts once its container is ready; false: no "
           "container of the operator brings it");
  set.Bool("--with-toolkit", flags.with_toolkit, {"WITH_TOOLKIT"},
           "without component: check the toolkit too");
  set.Bool("--with-plugin", flags.with_plugin, {"WITH_PLUGIN"},
           "without component: check the plugin too");
  set.Bool("--cdi-enabled", flags.cdi_enabled, {"CDI_ENABLED"},
           "the toolkit has to write a CDI document");
  set.Bool("--gpu-direct-rdma-enabled", flags.rdma, {"GPU_DIRECT_RDMA_ENABLED"},
           "the MOFED driver is needed");
  set.Bool("--use-host-mofed", flags.host_mofed, {"USE_HOST_MOFED"},
           "the host brings the MOFED driver");
}

void AddWhere(agent::FlagSet& set, Flags& flags) {
  set.Value("-o,--output-dir", flags.output_dir, {"OUTPUT_DIR"}, "where the status files are");
  set.Value("--host-root", flags.host_root, {"HOST_ROOT"},
            "the host's root, as the host spells it");
  set.Value("--host-root-mount", flags.host_root_here, {"HOST_ROOT_MOUNT"},
            "where it is mounted here");
  set.Value("--driver-install-dir", flags.driver_install_dir, {"DRIVER_INSTALL_DIR"},
            "root of a driver container, as the host spells it");
  set.Value("--dev-char-dir", flags.dev_char_here, {"DEV_CHAR_DIR"},
            "where the host's /dev/char is mounted");
  set.Value("--toolkit-root", flags.toolkit_root, {"TOOLKIT_ROOT"},
            "where the container toolkit is installed, as the host spells it");
  set.Value("--kubelet-root", flags.kubelet_root, {"KUBELET_ROOT"},
            "the kubelet's folder on the host");
  set.Value("--pod-resources-dir", flags.pod_resources_dir, {"POD_RESOURCES_DIR"},
            "the folder of the kubelet's pod-resources socket, as mounted here");
}

void AddCluster(agent::FlagSet& set, Flags& flags) {
  set.Value("--kubeconfig", flags.kubeconfig, {"KUBECONFIG"},
            "path of a kubeconfig; empty: in-cluster");
  set.Value("-n,--node-name", flags.node_name, {names::kNodeName}, "this node");
  set.Value("--namespace,--ns", flags.ns, {names::kOperatorNamespace}, "the operator's namespace");
  set.Bool("--publish", flags.publish, {"PUBLISH"},
           "without component: tell the cluster by a NodeFeature and events");
  set.Value("-g,--default-gpu-workload-config", flags.workload, {"DEFAULT_GPU_WORKLOAD_CONFIG"},
            "what a node without the label nvidia.com/gpu.workload.config is for");
  set.Value("-p,--metrics-port", flags.metrics_port, {"METRICS_PORT"},
            "component metrics: the port")
      ->check(CLI::Range(0, 65535));
  set.Bool("--device-plugin-enabled", flags.device_plugin, {"DEVICE_PLUGIN_ENABLED"},
           "component metrics: the node is to have a device plugin");
  set.Value("--host-sys", flags.sys_here, {"HOST_SYS"},
            "component metrics: the host's /sys, mounted here");
}

void AddProbe(agent::FlagSet& set, Flags& flags) {
  for (auto [name, value] :
       {std::pair{"--probe", &flags.probe}, std::pair{"--probe-library", &flags.probe_library},
        std::pair{"--probe-root", &flags.probe_root},
        std::pair{"--probe-program", &flags.probe_program},
        std::pair{"--probe-socket", &flags.probe_socket},
        std::pair{"--probe-reason", &flags.probe_reason},
        std::pair{"--probe-message", &flags.probe_message}}) {
    set.Value(name, *value, {}, "")->group("");
  }
}

// The flags that a component requires, as in NVIDIA's validator.
Status Complete(const Flags& flags) {
  static constexpr std::array kOfTheNode = {"metrics", "vfio-pci", "vgpu-manager", "vgpu-devices",
                                            "cc-manager"};
  if (std::ranges::find(kOfTheNode, flags.component) != kOfTheNode.end() &&
      flags.node_name.empty()) {
    return Fail(ErrorKind::kInvalid,
                format("component {}: --node-name (NODE_NAME) is needed", flags.component));
  }
  if (!flags.sandbox.empty() && flags.node_name.empty()) {
    return Fail(ErrorKind::kInvalid, "--sandbox-components: --node-name (NODE_NAME) is needed");
  }
  if (flags.component == "metrics" && flags.metrics_port == 0) {
    return Fail(ErrorKind::kInvalid, "component metrics: --metrics-port (METRICS_PORT) is needed");
  }
  return {};
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  agent::FlagSet set(
      kProgram,
      "Checks this node's driver, container toolkit, CUDA and device plugin, and keeps the "
      "status files in the output directory true.");
  AddWhat(set, flags);
  AddWhere(set, flags);
  AddCluster(set, flags);
  AddUnused(set);
  AddProbe(set, flags);
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  if (!run) {
    return std::nullopt;
  }
  TRY(Complete(flags));
  return flags;
}

}  // namespace gantry::validator
