// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "container/cri_starts.h"
#include "host/journal.h"
#include "host/processes.h"
#include "operands/container_toolkit/flags.h"
#include "operands/container_toolkit/runtime_discovery.h"

namespace gantry::container_toolkit {

// Adds NVIDIA's runtimes to a node's container engine, or removes them. The engine's own program
// checks new files before they are written. The engine is restarted only if its effective
// configuration changes. It must answer and have the runtimes within seconds; otherwise the old
// files are restored.
class RuntimeSetup {
 public:
  struct Outcome {
    std::vector<std::string> changed;  // host paths
    bool restarted = false;
    // Install: why the engine still runs without its new configuration; empty: it has it.
    std::string pending;
    std::vector<std::string> remarks;
    std::string kept;  // Remove: why the runtime's program is kept; empty: it is removed
  };

  RuntimeSetup(const RuntimeSetup&) = delete;
  RuntimeSetup& operator=(const RuntimeSetup&) = delete;
  virtual ~RuntimeSetup() = default;

  // kInvalid: the engine rejects its files or the result; nothing was changed, or they were undone
  // before and are not retried. kTimeout: the restarted engine did not answer; everything was
  // undone. With restart mode "none" the user must restart the engine: Outcome::pending says so
  // until then.
  virtual Result<Outcome> Install(host::Journal& journal);

  // Undoes Install, and restarts the engine if its effective configuration changes. Does nothing if
  // Install did nothing.
  Result<Outcome> Leave(host::Journal& journal);

  // Undoes everything in the journal, also the toolkit's other files: first the engine's, which is
  // restarted if its effective configuration changes, last the runtime's program and configuration.
  // Those are kept while containers need them, with the reason in Outcome::kept; then they stay in
  // the journal.
  Result<Outcome> Remove(host::Journal& journal);

  // Local paths whose changes may need Install again; known after Install.
  [[nodiscard]] const std::vector<std::string>& PathsToWatch() const { return watched_; }

  // Programs of low-level runtimes in the engine's configuration.
  [[nodiscard]] virtual std::vector<std::string> LowLevelRuntimes() const = 0;

 protected:
  // `drop_ins`: host paths of Gantry's drop-ins in the journal, also earlier ones.
  RuntimeSetup(const Flags& flags, FoundRuntime found, std::vector<std::string> drop_ins)
      : flags_(flags), found_(std::move(found)), drop_ins_(std::move(drop_ins)) {}

  struct Wanted {
    std::vector<host::Change> changes;  // empty: nothing to change
    std::vector<std::string> handlers;  // that the engine must have then
    std::vector<std::string> remarks;
    std::string drop_in;  // host path of Gantry's, if there is one
  };

  // Reads the engine's files and decides their desired content.
  virtual Result<Wanted> Plan() = 0;
  // Host paths of the engine's own files that Plan may edit; without drop-ins.
  [[nodiscard]] virtual std::vector<std::string> EditedFiles() const = 0;
  // The effective configuration, from the engine's own program: with Plan's files (kInvalid if it
  // rejects them), or with the present ones.
  virtual Result<std::string> TryOut(const Wanted& wanted) = 0;
  virtual Result<std::string> Effective() = 0;
  // Whether the engine answers, is ready and has the handlers; an error's message says what is
  // missing. `before` is the process before a restart.
  [[nodiscard]] virtual Result<host::ProcessId> Answers(const host::ProcessId& before,
                                                        const std::vector<std::string>& handlers,
                                                        std::chrono::milliseconds limit) const;
  // Makes the engine read its files.
  [[nodiscard]] virtual Status Restart(const host::ProcessId& process) const;
  [[nodiscard]] virtual std::string UsualUnit() const = 0;
  // Whether SIGHUP makes it read its files, also by ending it.
  [[nodiscard]] virtual bool SignalRestarts() const { return true; }
  // Whether Restart keeps the process.
  [[nodiscard]] virtual bool ReloadsInPlace() const { return false; }
  // The maximum time until the engine answers.
  [[nodiscard]] virtual std::chrono::seconds AnswerWithin() const {
    return std::chrono::seconds(7);
  }
  // Whether its supervisor restarts it when one of Gantry's files changes.
  [[nodiscard]] virtual bool RestartsItself() const { return false; }

  // Containers whose start a restart would interrupt now, as container/cri_starts.h names them. A
  // start that was already too old at `begin` counts as abandoned.
  [[nodiscard]] virtual Result<std::vector<std::string>> StartsUnderWay(
      WallTime begin, std::chrono::milliseconds limit) const;

  // The engine's pod sandboxes.
  [[nodiscard]] virtual Result<std::vector<container::CriSandbox>> Sandboxes(
      std::chrono::milliseconds limit) const;

  [[nodiscard]] std::string Here(const std::string& host_path) const;
  [[nodiscard]] const std::vector<std::string>& drop_ins() const { return drop_ins_; }
  [[nodiscard]] const Flags& flags() const { return flags_; }
  [[nodiscard]] const FoundRuntime& found() const { return found_; }
  // The flags' paths; empty if they are for another engine than the node's.
  [[nodiscard]] std::string AskedConfig() const;
  [[nodiscard]] std::string AskedDropIn() const;
  void Watch(const std::string& host_path) { watched_.push_back(Here(host_path)); }
  // Notes the handlers that run the toolkit's program, which is kept until no container needs it.
  Status NoteHandlers(host::Journal& journal, const std::vector<std::string>& handlers) const;
  // Waits for pending starts, calls Restart, then polls Answers until it succeeds or AnswerWithin
  // has passed.
  [[nodiscard]] Result<host::ProcessId> RestartAndWait(const std::vector<std::string>& handlers);

 private:
  // Blocks until no start is pending, little longer than container::kStartTakes at most.
  void LetStartsFinish() const;
  [[nodiscard]] bool HasRead(const host::Journal& journal, const std::string& effective,
                             const std::vector<std::string>& handlers) const;
  Status RestartIfNeeded(host::Journal& journal, const std::string& effective,
                         const std::vector<std::string>& handlers, Outcome& outcome);
  Status PutInPlace(host::Journal& journal, const Wanted& wanted, Outcome& outcome);
  Status NoteServing(host::Journal& journal, const Wanted& wanted) const;
  Status TakeBack(host::Journal& journal, const Wanted& wanted);
  Result<std::string> Withdraw(host::Journal& journal, const host::Journal::Which& which,
                               Outcome& outcome);
  [[nodiscard]] std::string Users(const std::vector<std::string>& handlers,
                                  std::optional<WallTime> withdrawn) const;
  [[nodiscard]] bool InPlace(const Wanted& wanted) const;
  [[nodiscard]] Status RestartUnit(const std::string& unit) const;
  [[nodiscard]] std::string SystemdUnit(const host::ProcessId& process) const;
  [[nodiscard]] std::string RunningPrefix() const;

  const Flags& flags_;
  FoundRuntime found_;
  std::vector<std::string> drop_ins_;
  std::vector<std::string> watched_;
};

// For the running engine. kUnavailable: none runs.
Result<std::unique_ptr<RuntimeSetup>> MakeRuntimeSetup(const Flags& flags,
                                                       const host::Journal& journal);

// RuntimeSetup::Remove without an engine to ask or restart.
Result<RuntimeSetup::Outcome> RemoveWithoutRuntime(const Flags& flags, host::Journal& journal);

// Whether an engine was given the runtimes, and they have not been removed since.
bool IsConfigured(const host::Journal& journal);

// Whether it answers with the runtimes of the last working configuration: then the failure of a
// newer one does not harm the node. Blocks for two seconds at most.
bool ServesAsBefore(const Flags& flags, const host::Journal& journal);

}  // namespace gantry::container_toolkit
