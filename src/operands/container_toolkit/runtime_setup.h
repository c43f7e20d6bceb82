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
#include "container/cri_status.h"
#include "host/journal.h"
#include "host/processes.h"
#include "operands/container_toolkit/flags.h"
#include "operands/container_toolkit/runtime_discovery.h"

namespace gantry::container_toolkit {

// How long an engine that runs may take for an answer.
inline constexpr std::chrono::seconds kAskWithin(1);

// Brings the container engine of a node to have NVIDIA's runtimes, or takes them from it. What
// shall be in its files is tried out by the engine's own program before it is put in place; the
// engine is restarted only if that changes what it runs with, must answer and have the runtimes
// within seconds, and gets its old files back if it does not.
class RuntimeSetup {
 public:
  struct Outcome {
    std::vector<std::string> changed;  // host paths
    bool restarted = false;
    std::vector<std::string> remarks;
    std::string kept;  // Remove: why the runtime's program stays; empty: it went
  };

  RuntimeSetup(const RuntimeSetup&) = delete;
  RuntimeSetup& operator=(const RuntimeSetup&) = delete;
  virtual ~RuntimeSetup() = default;

  // kInvalid: the engine's files or the result are refused, nothing was changed, or they were taken
  // back before and are not tried again; kTimeout: the restarted engine did not answer, everything
  // was taken back.
  virtual Result<Outcome> Install(host::Journal& journal);

  // Takes back what Install did, and restarts the engine if that changes what it runs with; nothing
  // is done where Install did nothing.
  Result<Outcome> Leave(host::Journal& journal);

  // Takes back everything that the journal knows, of the toolkit's other files too: first the
  // engine's, which is restarted if that changes what it runs with, last the runtime's program and
  // configuration. Those stay while something needs them, for which Outcome::kept has the reason;
  // the journal then knows of them still.
  Result<Outcome> Remove(host::Journal& journal);

  // Paths here whose change may need Install again; known after Install.
  [[nodiscard]] const std::vector<std::string>& PathsToWatch() const { return watched_; }

  // Programs of low-level runtimes that the engine's configuration names.
  [[nodiscard]] virtual std::vector<std::string> LowLevelRuntimes() const = 0;

 protected:
  // `drop_ins`: host paths of ours as the journal has them, those at places of before too.
  RuntimeSetup(const Flags& flags, FoundRuntime found, std::vector<std::string> drop_ins)
      : flags_(flags), found_(std::move(found)), drop_ins_(std::move(drop_ins)) {}

  struct Wanted {
    std::vector<host::Change> changes;  // empty: all is there already
    std::vector<std::string> handlers;  // that the engine shall have then
    std::vector<std::string> remarks;
    std::string drop_in;  // host path of ours, if there is one
  };

  // Reads the engine's files and decides what they shall be.
  virtual Result<Wanted> Plan() = 0;
  // Host paths of the engine's own files that Plan may add a part of ours to; drop-ins are not.
  [[nodiscard]] virtual std::vector<std::string> EditedFiles() const = 0;
  // What the engine would run with, by its own program: with the files as Plan wants them (kInvalid
  // if it refuses them), or as they are.
  virtual Result<std::string> TryOut(const Wanted& wanted) = 0;
  virtual Result<std::string> Effective() = 0;
  // Whether the engine answers, is ready and has the handlers; the message of an error says what
  // is missing. `before` is the process before a restart.
  [[nodiscard]] virtual Result<host::ProcessId> Answers(const host::ProcessId& before,
                                                        const std::vector<std::string>& handlers,
                                                        std::chrono::milliseconds limit) const;
  // Makes the engine read its files.
  [[nodiscard]] virtual Status Restart(const host::ProcessId& process) const;
  [[nodiscard]] virtual std::string UsualUnit() const = 0;
  // Whether SIGHUP makes it read its files, by its end or not.
  [[nodiscard]] virtual bool SignalRestarts() const { return true; }
  // Whether Restart keeps the process.
  [[nodiscard]] virtual bool ReloadsInPlace() const { return false; }
  // How long it takes until the engine answers, at most.
  [[nodiscard]] virtual std::chrono::seconds AnswerWithin() const {
    return std::chrono::seconds(7);
  }
  // What of Restart its supervisor does by itself when a file of ours changes.
  [[nodiscard]] virtual bool RestartsItself() const { return false; }

  // Containers whose start a restart would cut off now, as container/cri_starts.h names them. What
  // was older at `begin` than a start takes was given up then.
  [[nodiscard]] virtual Result<std::vector<std::string>> StartsUnderWay(
      WallTime begin, std::chrono::milliseconds limit) const;

  // The sandboxes of pods that the engine has.
  [[nodiscard]] virtual Result<std::vector<container::CriSandbox>> Sandboxes(
      std::chrono::milliseconds limit) const;

  [[nodiscard]] std::string Here(const std::string& host_path) const;
  [[nodiscard]] const std::vector<std::string>& drop_ins() const { return drop_ins_; }
  [[nodiscard]] const Flags& flags() const { return flags_; }
  [[nodiscard]] const FoundRuntime& found() const { return found_; }
  // The paths that flags name; empty where they are meant for another engine than the node's.
  [[nodiscard]] std::string AskedConfig() const;
  [[nodiscard]] std::string AskedDropIn() const;
  void Watch(const std::string& host_path) { watched_.push_back(Here(host_path)); }
  // Notes what the engine serves by the toolkit's program: that stays until no container needs it.
  Status NoteHandlers(host::Journal& journal, const std::vector<std::string>& handlers) const;
  // Waits for starts that are under way, Restart, then Answers again and again until it does or
  // AnswerWithin has passed.
  [[nodiscard]] Result<host::ProcessId> RestartAndWait(const std::vector<std::string>& handlers);

 private:
  // Blocks until no start is under way, little longer than container::kStartTakes at most.
  void LetStartsFinish() const;
  Result<bool> RestartIfNeeded(host::Journal& journal, const std::string& effective,
                               const std::vector<std::string>& handlers);
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

// For the engine that runs now. kUnavailable: none does.
Result<std::unique_ptr<RuntimeSetup>> MakeRuntimeSetup(const Flags& flags,
                                                       const host::Journal& journal);

// RuntimeSetup::Remove without an engine that could be asked or restarted.
Result<RuntimeSetup::Outcome> RemoveWithoutRuntime(const Flags& flags, host::Journal& journal);

// Whether an engine was given the runtimes, and not rid of them since.
bool IsConfigured(const host::Journal& journal);

// Whether it answers, with the runtimes of the last configuration that worked: then a newer one
// that fails takes nothing from the node. Blocks for two seconds at most.
bool ServesAsBefore(const Flags& flags, const host::Journal& journal);

// Whether the engine serves these handlers. CRI-O reports its own since 1.30; before, its own
// program has shown that it has them.
bool HasHandlers(const std::string& engine, const container::CriStatus& status,
                 const std::vector<std::string>& handlers);

}  // namespace gantry::container_toolkit
