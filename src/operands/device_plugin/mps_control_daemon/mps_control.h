// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/own_node.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mailbox.h"
#include "host/signals.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "operands/device_plugin/config_label.h"
#include "operands/device_plugin/mps_control_daemon/mps_gpus.h"
#include "operands/device_plugin/mps_control_daemon/mps_plan.h"
#include "operands/device_plugin/mps_control_daemon/mps_program.h"
#include "operands/device_plugin/mps_started.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// The main loop: waits for what can change (status files, configuration, node label, the daemon's
// end, signals), and after each change does what is due.
class MpsControl {
 public:
  // `signals` outlives it. The MPS root as seen here is that of the settings.
  MpsControl(Flags flags, host::Signals& signals, host::StatusFiles status_files,
             host::Watcher watcher);

  // Until SIGTERM, or until an error that needs a restart. Returns the exit status.
  int Run();

 private:
  struct Running {
    MpsPlan plan;
    DriverRoots driver;
    MpsProgram program;
    SteadyTime give_up_at;  // the deadline for its answer
    SteadyTime ask_at;
    std::optional<MpsStarted> started;  // it accepts clients
  };

  Status Start();
  void Wait();
  void Evaluate();
  // The steps; false: later steps must wait.
  bool DriverIsReady();
  bool ConfigIsKnown();
  void Look();
  void Follow();
  void StartDaemon(const Settings& settings, const MpsPlan& plan);
  Result<MpsProgram> Launch(const Settings& settings, const MpsPlan& plan);
  void AskDaemon();
  Status Configure(Running& running);
  void StopDaemon();
  void DaemonFailed(const std::string& reason);

  [[nodiscard]] std::optional<SteadyTime> Deadline() const;
  [[nodiscard]] std::string FolderOf(const MpsPlan& plan) const;
  // Logs each message once.
  void Complain(const std::string& message);

  const Flags flags_;
  const std::string mps_root_;
  host::Signals& signals_;
  const host::StatusFiles status_files_;
  host::Watcher watcher_;
  MpsGpus gpus_;
  bool stop_ = false;

  std::optional<host::StatusValues> driver_ready_;
  std::optional<Settings> settings_;
  std::optional<MpsPlan> wanted_;
  std::vector<std::string> left_out_;  // already reported
  std::string complaint_;              // the same

  // The pending work.
  bool status_changed_ = true;
  bool config_changed_ = true;
  std::optional<SteadyTime> look_at_;
  SteadyTime start_at_{};
  int failures_ = 0;

  agent::OwnNode own_node_;
  ConfigLabel label_{flags_, own_node_};
  std::optional<Running> running_;
};

}  // namespace gantry::device_plugin
