// SPDX-License-Identifier: Apache-2.0
// How is any engine configured? By a trial, a write through the journal, a restart if needed, a
// check, and an undo after a failure. The configuration that the running process has read decides
// whether it must restart: the journal keeps a fingerprint of it, by pid and start time, so that a
// repaired drop-in or a restart of the toolkit restarts no engine. The journal marks it as pending
// before the first file changes, so that a killed toolkit leaves a record of a restart that may be
// due.
#include "operands/container_toolkit/runtime_setup.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/cri_status.h"
#include "container/docker_status.h"
#include "operands/container_toolkit/containerd_setup.h"
#include "operands/container_toolkit/crio_setup.h"
#include "operands/container_toolkit/docker_setup.h"
#include "operands/container_toolkit/runtime_notes.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kAskWithin(1);
}  // namespace

std::string RuntimeSetup::Here(const std::string& host_path) const {
  return ResolveInRoot(flags_.host_root, host_path).value_or(JoinPath(flags_.host_root, host_path));
}

std::string RuntimeSetup::AskedConfig() const {
  return found_.engine == flags_.runtime ? flags_.runtime_config : "";
}

std::string RuntimeSetup::AskedDropIn() const {
  return found_.engine == flags_.runtime ? flags_.drop_in_config : "";
}

std::string RuntimeSetup::RunningPrefix() const {
  return format("{} {} ", found_.process.pid, found_.process.start_time);
}

bool RuntimeSetup::InPlace(const Wanted& wanted) const {
  return std::ranges::all_of(wanted.changes, [&](const host::Change& change) {
    const auto present = ReadFile(Here(change.path));
    return present && *present == change.content;
  });
}

Result<RuntimeSetup::Outcome> RuntimeSetup::Install(host::Journal& journal) {
  Outcome outcome;
  TRY_ASSIGN(const Wanted wanted, Plan());
  outcome.remarks = found_.remarks;
  outcome.remarks.insert(outcome.remarks.end(), wanted.remarks.begin(), wanted.remarks.end());
  if (wanted.changes.empty()) {
    TRY(NoteServing(journal, wanted));
    return outcome;  // another tool has already configured everything
  }
  std::string asked = flags_.restart_mode;
  for (const host::Change& change : wanted.changes) {
    asked += change.content;
  }
  asked = Fingerprint(asked);
  if (journal.Note(kRefused) == asked) {
    TRY(TakeBack(journal, wanted));  // a killed toolkit may have left it
    return Fail(ErrorKind::kInvalid,
                format("configure {}: it did not come back with this configuration before; "
                       "change it or its files to have it tried again",
                       found_.engine));
  }
  const bool in_place = InPlace(wanted);
  const std::string note = journal.Note(kRunning);
  const bool known = note.starts_with(RunningPrefix());
  if (in_place && known && !note.ends_with(kPending)) {
    TRY(NoteServing(journal, wanted));
    return outcome;  // unchanged, and the runtime has read it
  }
  if (!in_place && !IsConfigured(journal)) {
    if (const auto answers = Answers({}, {}, kAskWithin); !answers) {
      return Fail(ErrorKind::kUnavailable,
                  format("configure {}: it does not answer as it is, so nothing was changed ({}); "
                         "look at its log on the node",
                         found_.engine, answers.error().message));
    }
  }
  TRY_ASSIGN(const std::string effective, TryOut(wanted));
  if (!in_place) {
    TRY(PutInPlace(journal, wanted, outcome));
  }
  for (const std::string& path : drop_ins_) {
    if (path != wanted.drop_in) {
      TRY_ASSIGN(const auto gone, journal.Undo(path, TakeOut(flags_, journal)));
      outcome.changed.insert(outcome.changed.end(), gone.begin(), gone.end());
    }
  }
  TRY(journal.SetNote(kDropIn, wanted.drop_in));
  const Status restarted = RestartIfNeeded(journal, effective, wanted.handlers, outcome);
  if (!restarted) {
    // First of all: whatever fails below is not retried in a loop.
    TRY(journal.SetNote(kRefused, asked));
    TRY(TakeBack(journal, wanted));
    return std::unexpected(
        restarted.error().In(format("configure {} (taken back)", found_.engine)));
  }
  TRY(journal.SetNote(kRefused, ""));
  if (outcome.pending.empty()) {
    TRY(NoteServing(journal, wanted));
  }
  return outcome;
}

Status RuntimeSetup::PutInPlace(host::Journal& journal, const Wanted& wanted, Outcome& outcome) {
  const std::string note = journal.Note(kRunning);
  // A process without a note has read the files as they were until now.
  const std::string read = note.starts_with(RunningPrefix())
                               ? WithoutPending(note)
                               : RunningNote(found_.process, Effective().value_or(""));
  TRY(journal.SetNote(kRunning, read + std::string(kPending)));
  if (RestartsItself()) {
    LetStartsFinish();
  }
  // Both paths are Gantry's until the earlier one is empty.
  std::vector<std::string> drop_ins = drop_ins_;
  std::erase(drop_ins, wanted.drop_in);
  if (!wanted.drop_in.empty()) {
    drop_ins.insert(drop_ins.begin(), wanted.drop_in);
  }
  TRY(journal.SetNote(kDropIn, Join(drop_ins, "\n")));
  TRY_ASSIGN(outcome.changed, journal.Apply(wanted.changes));
  return {};
}

Status RuntimeSetup::NoteServing(host::Journal& journal, const Wanted& wanted) const {
  std::vector<std::string> handlers = wanted.handlers;
  if (flags_.set_as_default) {
    handlers.emplace_back();
  }
  return NoteHandlers(journal, handlers);
}

// Whether the running process has read the wanted configuration.
bool RuntimeSetup::HasRead(const host::Journal& journal, const std::string& effective,
                           const std::vector<std::string>& handlers) const {
  const std::string note = WithoutPending(journal.Note(kRunning));
  if (note == RunningNote(found_.process, effective)) {
    return true;
  }
  const bool since = !note.starts_with(RunningPrefix());
  // An engine that was reloaded by others, without a new process, shows it by a new handler.
  const bool reloads = ReloadsInPlace() && flags_.restart_mode == "none" &&
                       !HasAll(ServedBefore(journal).handlers, handlers);
  // Started since, by others: it has read Gantry's files, since it has their handlers.
  return (since || reloads) && Answers({}, handlers, seconds(2)).has_value();
}

// Restarts the engine unless it has read the wanted configuration.
Status RuntimeSetup::RestartIfNeeded(host::Journal& journal, const std::string& effective,
                                     const std::vector<std::string>& handlers, Outcome& outcome) {
  if (HasRead(journal, effective, handlers)) {
    return journal.SetNote(kRunning, RunningNote(found_.process, effective));
  }
  const std::string note = WithoutPending(journal.Note(kRunning));
  const std::string read =
      note.starts_with(RunningPrefix()) ? note : RunningNote(found_.process, "");
  TRY(journal.SetNote(kRunning, read + std::string(kPending)));
  if (flags_.restart_mode == "none") {
    outcome.pending =
        format("{} has not read its new configuration: restart it, the restart mode is none",
               found_.engine);
    Watch(found_.socket);
    return {};
  }
  TRY_ASSIGN(const host::ProcessId now, RestartAndWait(handlers));
  outcome.restarted = true;
  return journal.SetNote(kRunning, RunningNote(now, effective));
}

Status RuntimeSetup::TakeBack(host::Journal& journal, const Wanted& wanted) {
  const auto take_out = TakeOut(flags_, journal);
  const std::string before = journal.Note(kRunning);  // names the process before the restart
  bool changed = false;
  for (auto change = wanted.changes.rbegin(); change != wanted.changes.rend(); ++change) {
    TRY_ASSIGN(const auto paths, journal.Undo(change->path, take_out));
    changed = changed || !paths.empty();
  }
  TRY(journal.SetNote(kRunning, ""));
  TRY(journal.SetNote(kServes, ""));
  if (!changed || RestartsItself()) {
    return {};
  }
  const auto now = FindRuntime(flags_);
  if (!now) {
    return {};  // its supervisor retries, and then it finds the old files
  }
  const bool lives_on =
      before.starts_with(format("{} {} ", now->process.pid, now->process.start_time));
  if (lives_on && !ReloadsInPlace()) {
    return {};  // it has read nothing of Gantry's
  }
  if (const Status done = Restart(now->process); !done) {
    log::Warning("{}", done.error().In("after its files were put back").message);
  }
  return {};
}

Status RuntimeSetup::NoteHandlers(host::Journal& journal,
                                  const std::vector<std::string>& handlers) const {
  TRY(journal.SetNote(kWithdrawn, ""));
  return journal.SetNote(kServes,
                         format("{} {} {}", found_.engine, found_.socket, Join(handlers, ",")));
}

bool IsConfigured(const host::Journal& journal) {
  return std::ranges::any_of(std::array{kRunning, kDropIn, kServes},
                             [&](const char* note) { return !journal.Note(note).empty(); });
}

bool ServesAsBefore(const Flags& flags, const host::Journal& journal) {
  Served served = ServedBefore(journal);
  std::erase(served.handlers, "");
  const std::string socket = ResolveInRoot(flags.host_root, served.socket).value_or("");
  if (served.engine.empty()) {
    return false;
  }
  if (served.engine == "docker") {
    const auto status = container::AskDocker(socket, seconds(2));
    return status && HasAll(status->runtimes, served.handlers);
  }
  const auto status = container::AskCriStatus(socket, seconds(2));
  return status && status->ready && Has(served.engine, *status, served.handlers);
}

Result<std::unique_ptr<RuntimeSetup>> MakeRuntimeSetup(const Flags& flags,
                                                       const host::Journal& journal) {
  TRY_ASSIGN(FoundRuntime found, FindRuntime(flags));
  std::vector<std::string> drop_ins = NotedDropIns(journal);
  if (found.engine == "crio") {
    drop_ins.push_back(JoinPath(flags.hooks_dir, flags.hook_filename));
    return std::make_unique<CrioSetup>(flags, std::move(found), std::move(drop_ins));
  }
  if (found.engine == "docker") {
    return std::make_unique<DockerSetup>(flags, std::move(found), std::move(drop_ins));
  }
  return ContainerdSetup::Make(flags, std::move(found), std::move(drop_ins));
}

}  // namespace gantry::container_toolkit
