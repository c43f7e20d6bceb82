// SPDX-License-Identifier: Apache-2.0
// The entry of the command mps-control-daemon. Flags and variables are those of NVIDIA's
// (k8s-device-plugin v0.20, cmd/mps-control-daemon); those by which a node's configuration is
// chosen are the plugin's, so that both read the same one.
#include "operands/device_plugin/mps_control_daemon/mps_control_daemon.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/command_line.h"
#include "base/log.h"
#include "base/text.h"
#include "operands/device_plugin/allocate.h"
#include "operands/device_plugin/mps_control_daemon/mps_control.h"
#include "operands/device_plugin/mps_control_daemon/mps_shm.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

void AddFlags(CLI::App& app, Arguments& to) {
  app.add_option("--mig-strategy", to.mig_strategy, "none, single or mixed")
      ->envname("MIG_STRATEGY");
  app.add_option("--config-file", to.config_file, "")->envname("CONFIG_FILE");
  app.add_option("--config-file-srcdir", to.config_dir, "a folder of configurations to choose from")
      ->envname("CONFIG_FILE_SRCDIR");
  app.add_option("--default-config", to.default_config, "")->envname("DEFAULT_CONFIG");
  AsList(app.add_option("--fallback-strategies", to.fallback_strategies, "named, single, empty")
             ->envname("FALLBACK_STRATEGIES"));
  app.add_option("--node-name", to.node_name, "")->envname(names::kNodeName);
  app.add_option("--node-label", to.node_label, "label of the node that names the configuration")
      ->envname("NODE_LABEL")
      ->default_val(names::kDevicePluginConfig);
  AsList(app.add_option("--wait-for-validations", to.wait_for, "status files to wait for")
             ->envname("WAIT_FOR_VALIDATIONS"));
  app.add_option("--status-dir", to.status_dir, "")->default_val(names::kValidationsDir);
  app.add_option("--driver-root-ctr-path", to.driver_root_ctr_path,
                 "where the driver root is mounted here")
      ->envname("DRIVER_ROOT_CTR_PATH");
  app.add_option("--host-root", to.host_root, "where the host's root is mounted here")
      ->envname("HOST_ROOT")
      ->default_val("/host");
  app.add_option("--mps-root", to.mps_root, "where the folder of MPS is mounted here")
      ->default_val(kMpsRoot);
}

Result<int> Run(MpsCommandLine given) {
  if (given.mount_shm) {
    TRY(MountMpsShm(given.arguments.mps_root.value_or(kMpsRoot)));
    return 0;
  }
  // What is wrong on the command line stays wrong; what a configuration adds may be mended.
  TRY(Decide(given.arguments, {}, {}));
  host::Signals signals;
  TRY_ASSIGN(auto status_files, host::StatusFiles::Open(given.arguments.status_dir));
  TRY_ASSIGN(auto watcher, host::Watcher::Create());
  return MpsControl(std::move(given.arguments), signals, std::move(status_files),
                    std::move(watcher))
      .Run();
}

}  // namespace

Result<std::optional<MpsCommandLine>> ParseMpsCommandLine(int argc, const char* const* argv) {
  CLI::App app("Runs NVIDIA's MPS control daemon for the GPUs that this node shares by MPS.",
               "mps-control-daemon");
  app.set_version_flag("--version", GANTRY_VERSION);
  MpsCommandLine line;
  AddFlags(app, line.arguments);
  app.add_subcommand("mount-shm", "mounts the memory that MPS shares with its clients")
      ->callback([&line] { line.mount_shm = true; });
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked, std::cout, std::cerr);
    return std::optional<MpsCommandLine>();
  } catch (const CLI::Error& error) {
    return Fail(ErrorKind::kInvalid, format("read the command line: {}", error.what()));
  }
  return line;
}

int RunMpsControlDaemon(int argc, char** argv) {
  auto line = ParseMpsCommandLine(argc, argv);
  if (!line) {
    log::Error("{}", line.error().message);
    return 2;
  }
  const auto given = *std::move(line);
  if (!given.has_value()) {
    return 0;
  }
  const auto code = Run(*given);
  if (!code) {
    log::Error("{}", code.error().message);
    return 1;
  }
  return *code;
}

}  // namespace gantry::device_plugin
