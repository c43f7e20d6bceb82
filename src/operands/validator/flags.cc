// SPDX-License-Identifier: Apache-2.0
// What is this validator to do? NVIDIA's flags and environment variables (its manifests and those
// of users carry them), a flag winning over its variable.
#include "operands/validator/flags.h"

#include <CLI/CLI.hpp>
#include <array>

#include "base/command_line.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

// Accepted because NVIDIA's manifests set them; a check without pods has no use for them.
struct Unused {
  bool with_workload = true;
  std::string mig_strategy = "single";
  std::string install_dir_here;
};

void AddUnused(CLI::App& app, Unused& unused) {
  app.add_flag("-l,--with-workload", unused.with_workload, "accepted, not used")
      ->envname("WITH_WORKLOAD");
  app.add_option("-m,--mig-strategy", unused.mig_strategy, "accepted, not used")
      ->envname("MIG_STRATEGY");
  app.add_option("--driver-install-dir-ctr-path", unused.install_dir_here, "accepted, not used")
      ->envname("DRIVER_INSTALL_DIR_CTR_PATH");
}

void AddWhat(CLI::App& app, Flags& flags) {
  app.add_option("-c,--component", flags.component,
                 "check this one and exit: driver, toolkit, cuda, plugin, nvidia-fs, gdrcopy, "
                 "nvidia-peermem, mofed, vfio-pci, vgpu-manager, vgpu-devices, cc-manager; metrics "
                 "serves what was found; without it, check this node until stopped")
      ->envname("COMPONENT");
  app.add_flag("-w,--with-wait", flags.with_wait, "wait until the component is ready")
      ->envname("WITH_WAIT");
  app.add_option("-s,--sleep-interval-seconds", flags.sleep_seconds,
                 "with --with-wait: seconds until what tells no changes is looked at again")
      ->envname("SLEEP_INTERVAL_SECONDS")
      ->check(CLI::Range(1, 3600));
  app.add_flag("-r,--cleanup-all", flags.cleanup_all, "empty the output directory first")
      ->envname("CLEANUP_ALL");
  app.add_flag("--driver-validation-skip-gpu-init", flags.skip_gpu_init,
               "look at the driver's files only, do not ask it")
      ->envname("DRIVER_VALIDATION_SKIP_GPU_INIT");
  app.add_flag("--disable-dev-char-symlink-creation", flags.no_dev_char,
               "make no links to NVIDIA's device nodes in the host's /dev/char")
      ->envname("DISABLE_DEV_CHAR_SYMLINK_CREATION");
  app.add_option("--with-driver-container", flags.with_driver_container,
                 "what lies in the driver's folder counts once its container is ready; false: no "
                 "container of the operator brings it")
      ->envname("WITH_DRIVER_CONTAINER");
  app.add_option("--with-toolkit", flags.with_toolkit, "without component: check the toolkit too")
      ->envname("WITH_TOOLKIT");
  app.add_option("--with-plugin", flags.with_plugin, "without component: check the plugin too")
      ->envname("WITH_PLUGIN");
  app.add_option("--cdi-enabled", flags.cdi_enabled, "the toolkit has to write a CDI document")
      ->envname("CDI_ENABLED");
  app.add_option("--gpu-direct-rdma-enabled", flags.rdma, "the MOFED driver is needed")
      ->envname("GPU_DIRECT_RDMA_ENABLED");
  app.add_option("--use-host-mofed", flags.host_mofed, "the host brings the MOFED driver")
      ->envname("USE_HOST_MOFED");
}

void AddWhere(CLI::App& app, Flags& flags) {
  app.add_option("-o,--output-dir", flags.output_dir, "where the status files are")
      ->envname("OUTPUT_DIR");
  app.add_option("--host-root", flags.host_root, "the host's root, as the host spells it")
      ->envname("HOST_ROOT");
  app.add_option("--host-root-mount", flags.host_root_here, "where it is mounted here")
      ->envname("HOST_ROOT_MOUNT");
  app.add_option("--driver-install-dir", flags.driver_install_dir,
                 "root of a driver container, as the host spells it")
      ->envname("DRIVER_INSTALL_DIR");
  app.add_option("--dev-char-dir", flags.dev_char_here, "where the host's /dev/char is mounted")
      ->envname("DEV_CHAR_DIR");
  app.add_option("--toolkit-root", flags.toolkit_root,
                 "where the container toolkit is installed, as the host spells it")
      ->envname("TOOLKIT_ROOT");
  app.add_option("--kubelet-root", flags.kubelet_root, "the kubelet's folder on the host")
      ->envname("KUBELET_ROOT");
  app.add_option("--pod-resources-dir", flags.pod_resources_dir,
                 "the folder of the kubelet's pod-resources socket, as mounted here")
      ->envname("POD_RESOURCES_DIR");
}

void AddCluster(CLI::App& app, Flags& flags) {
  app.add_option("--kubeconfig", flags.kubeconfig, "path of a kubeconfig; empty: in-cluster")
      ->envname("KUBECONFIG");
  app.add_option("-n,--node-name", flags.node_name, "this node")->envname(names::kNodeName);
  app.add_option("--namespace,--ns", flags.space, "the operator's namespace")
      ->envname(names::kOperatorNamespace);
  app.add_option("--publish", flags.publish,
                 "without component: tell the cluster by a NodeFeature and events")
      ->envname("PUBLISH");
  app.add_option("-g,--default-gpu-workload-config", flags.workload,
                 "what a node without the label nvidia.com/gpu.workload.config is for")
      ->envname("DEFAULT_GPU_WORKLOAD_CONFIG");
  app.add_option("-p,--metrics-port", flags.metrics_port, "component metrics: the port")
      ->envname("METRICS_PORT")
      ->check(CLI::Range(0, 65535));
  app.add_option("--device-plugin-enabled", flags.device_plugin,
                 "component metrics: the node is to have a device plugin")
      ->envname("DEVICE_PLUGIN_ENABLED");
  app.add_option("--host-sys", flags.sys_here, "component metrics: the host's /sys, mounted here")
      ->envname("HOST_SYS");
}

void AddProbe(CLI::App& app, Flags& flags) {
  for (auto [name, value] :
       {std::pair{"--probe", &flags.probe}, std::pair{"--probe-library", &flags.probe_library},
        std::pair{"--probe-root", &flags.probe_root},
        std::pair{"--probe-program", &flags.probe_program},
        std::pair{"--probe-socket", &flags.probe_socket},
        std::pair{"--probe-reason", &flags.probe_reason},
        std::pair{"--probe-message", &flags.probe_message}}) {
    app.add_option(name, *value)->group("");
  }
}

// What a component needs of the flags, as NVIDIA's validator asks for it.
Status Complete(const Flags& flags) {
  static constexpr std::array kOfTheNode = {"metrics", "vfio-pci", "vgpu-manager", "vgpu-devices",
                                            "cc-manager"};
  if (std::ranges::find(kOfTheNode, flags.component) != kOfTheNode.end() &&
      flags.node_name.empty()) {
    return Fail(ErrorKind::kInvalid,
                format("component {}: --node-name (NODE_NAME) is needed", flags.component));
  }
  if (flags.component == "metrics" && flags.metrics_port == 0) {
    return Fail(ErrorKind::kInvalid, "component metrics: --metrics-port (METRICS_PORT) is needed");
  }
  return {};
}

}  // namespace

std::variant<Flags, int> ParseFlags(int argc, char** argv) {
  Flags flags;
  Unused unused;
  CLI::App app(
      "Checks this node's driver, container toolkit, CUDA and device plugin, and keeps the "
      "status files in the output directory true.",
      "nvidia-validator");
  app.set_version_flag("--version", GANTRY_VERSION);
  AddWhat(app, flags);
  AddWhere(app, flags);
  AddCluster(app, flags);
  AddUnused(app, unused);
  AddProbe(app, flags);
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (const Status complete = Complete(flags); !complete) {
    std::fprintf(stderr, "nvidia-validator: %s\n", complete.error().message.c_str());
    return 1;
  }
  return flags;
}

}  // namespace gantry::validator
