// SPDX-License-Identifier: Apache-2.0
// What is this validator to do? NVIDIA's flags and environment variables (its manifests and those
// of users carry them), a flag winning over its variable.
#include "operands/validator/flags.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

// Accepted because NVIDIA's manifests set them; a check without pods and without the API server has
// no use for them.
struct Unused {
  int sleep_seconds = 5;
  std::string kubeconfig;
  std::string node_name;
  std::string space;
  bool with_workload = true;
  std::string mig_strategy = "single";
  int metrics_port = 0;
  std::string workload_config;
  bool no_dev_char = false;
  std::string install_dir_here;
};

void AddUnused(CLI::App& app, Unused& unused) {
  app.add_option("--kubeconfig", unused.kubeconfig, "accepted, not used")->envname("KUBECONFIG");
  app.add_option("-n,--node-name", unused.node_name, "accepted, not used")
      ->envname(names::kNodeName);
  app.add_option("--namespace", unused.space, "accepted, not used")
      ->envname(names::kOperatorNamespace);
  app.add_option("-l,--with-workload", unused.with_workload, "accepted, not used")
      ->envname("WITH_WORKLOAD");
  app.add_option("-m,--mig-strategy", unused.mig_strategy, "accepted, not used")
      ->envname("MIG_STRATEGY");
  app.add_option("-p,--metrics-port", unused.metrics_port, "accepted, not used")
      ->envname("METRICS_PORT");
  app.add_option("-g,--default-gpu-workload-config", unused.workload_config, "accepted, not used")
      ->envname("DEFAULT_GPU_WORKLOAD_CONFIG");
  app.add_option("--disable-dev-char-symlink-creation", unused.no_dev_char, "accepted, not used")
      ->envname("DISABLE_DEV_CHAR_SYMLINK_CREATION");
  app.add_option("--driver-install-dir-ctr-path", unused.install_dir_here, "accepted, not used")
      ->envname("DRIVER_INSTALL_DIR_CTR_PATH");
}

void AddProbe(CLI::App& app, Flags& flags) {
  for (auto [name, value] :
       {std::pair{"--probe", &flags.probe}, std::pair{"--probe-library", &flags.probe_library},
        std::pair{"--probe-root", &flags.probe_root},
        std::pair{"--probe-program", &flags.probe_program},
        std::pair{"--probe-socket", &flags.probe_socket}}) {
    app.add_option(name, *value)->group("");
  }
}

}  // namespace

std::variant<Flags, int> ParseFlags(int argc, char** argv) {
  Flags flags;
  Unused unused;
  CLI::App app(
      "Checks this node's driver, container toolkit, CUDA and device plugin, and keeps the "
      "status files in the output directory true.",
      "nvidia-validator");
  app.add_option("-c,--component", flags.component,
                 "check this one and exit: driver, toolkit, cuda, plugin, nvidia-fs, gdrcopy, "
                 "nvidia-peermem; without it, check all until stopped")
      ->envname("COMPONENT");
  app.add_flag("-w,--with-wait", flags.with_wait, "wait until the component is ready")
      ->envname("WITH_WAIT");
  app.add_flag("-r,--cleanup-all", flags.cleanup_all, "empty the output directory first")
      ->envname("CLEANUP_ALL");
  app.add_option("-o,--output-dir", flags.output_dir, "where the status files are")
      ->envname("OUTPUT_DIR");
  app.add_option("--host-root", flags.host_root, "the host's root, as the host spells it")
      ->envname("HOST_ROOT");
  app.add_option("--host-root-mount", flags.host_root_here, "where it is mounted here")
      ->envname("HOST_ROOT_MOUNT");
  app.add_option("--driver-install-dir", flags.driver_install_dir,
                 "root of a driver container, as the host spells it")
      ->envname("DRIVER_INSTALL_DIR");
  app.add_option("--driver-validation-skip-gpu-init", flags.skip_gpu_init,
                 "look at the driver's files only, do not ask it")
      ->envname("DRIVER_VALIDATION_SKIP_GPU_INIT");
  app.add_option("--toolkit-root", flags.toolkit_root,
                 "where the container toolkit is installed, as the host spells it")
      ->envname("TOOLKIT_ROOT");
  app.add_option("--with-toolkit", flags.with_toolkit, "without component: check the toolkit too")
      ->envname("WITH_TOOLKIT");
  app.add_option("--with-plugin", flags.with_plugin, "without component: check the plugin too")
      ->envname("WITH_PLUGIN");
  app.add_option("--cdi-enabled", flags.cdi_enabled, "the toolkit has to write a CDI document")
      ->envname("CDI_ENABLED");
  app.add_option("--kubelet-root", flags.kubelet_root, "the kubelet's folder on the host")
      ->envname("KUBELET_ROOT");
  app.add_option("--pod-resources-dir", flags.pod_resources_dir,
                 "the folder of the kubelet's pod-resources socket, as mounted here")
      ->envname("POD_RESOURCES_DIR");
  app.add_option("-s,--sleep-interval-seconds", unused.sleep_seconds, "accepted, not used")
      ->envname("SLEEP_INTERVAL_SECONDS");
  AddUnused(app, unused);
  AddProbe(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return flags;
}

}  // namespace gantry::validator
