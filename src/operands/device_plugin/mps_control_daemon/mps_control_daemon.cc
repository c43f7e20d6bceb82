// SPDX-License-Identifier: Apache-2.0
// How does the command mps-control-daemon start? Flags and variables are NVIDIA's
// (k8s-device-plugin v0.20, cmd/mps-control-daemon); those that select a node's configuration are
// the plugin's, so that both read the same one.
#include "operands/device_plugin/mps_control_daemon/mps_control_daemon.h"

#include "agent/flags.h"
#include "base/log.h"
#include "operands/device_plugin/allocate.h"
#include "operands/device_plugin/mps_control_daemon/mps_control.h"
#include "operands/device_plugin/mps_control_daemon/mps_shm.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

constexpr char kProgram[] = "mps-control-daemon";

void AddMpsFlags(agent::FlagSet& set, Flags& to) {
  set.Value("--mig-strategy", to.mig_strategy, {"MIG_STRATEGY"}, "none, single or mixed");
  agent::AddConfigFlags(set, to, {"CONFIG_FILE"});
  agent::AddStatusFlags(set, to);
  set.Value("--driver-root-ctr-path", to.driver_root_ctr_path, {"DRIVER_ROOT_CTR_PATH"},
            "where the driver root is mounted here");
  set.Value("--host-root", to.host_root, {"HOST_ROOT"}, "where the host's root is mounted here")
      ->default_val("/host");
  set.Value("--mps-root", to.mps_root, {}, "where the folder of MPS is mounted here")
      ->default_val(kMpsRoot);
}

Result<int> RunMps(MpsCommandLine given) {
  if (given.mount_shm) {
    TRY(MountMpsShm(given.flags.mps_root.value_or(kMpsRoot)));
    return 0;
  }
  // A mistake on the command line is permanent; one in the configuration may be fixed.
  TRY(Decide(given.flags, {}, {}));
  host::Signals signals;
  TRY_ASSIGN(auto status_files, host::StatusFiles::Open(given.flags.status_dir));
  TRY_ASSIGN(auto watcher, host::Watcher::Create());
  return MpsControl(std::move(given.flags), signals, std::move(status_files), std::move(watcher))
      .Run();
}

}  // namespace

Result<std::optional<MpsCommandLine>> ParseMpsCommandLine(int argc, const char* const* argv) {
  agent::FlagSet set(kProgram,
                     "Runs NVIDIA's MPS control daemon for the GPUs that this node shares by MPS.");
  MpsCommandLine line;
  AddMpsFlags(set, line.flags);
  set.app()
      .add_subcommand("mount-shm", "mounts the memory that MPS shares with its clients")
      ->callback([&line] { line.mount_shm = true; });
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  return run ? std::optional(line) : std::nullopt;
}

int RunMpsControlDaemon(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseMpsCommandLine(argc, argv), [](MpsCommandLine line) {
    const auto code = RunMps(std::move(line));
    if (!code) {
      log::Error("{}", code.error().message);
    }
    return code.value_or(1);
  });
}

}  // namespace gantry::device_plugin
