// SPDX-License-Identifier: Apache-2.0
// What is the same for every engine: try out, write through the journal, restart if need be, ask,
// take back. Whether a restart is needed is told by what the running process has read: the journal
// keeps, for the process (pid and start time), a fingerprint of its effective configuration, so
// that a repaired drop-in or a restart of the toolkit costs none. It is noted as pending before the
// first file changes: whoever is killed in between leaves word that a restart may be due.
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
  return ResolveInRoot(options_.host_root, host_path)
      .value_or(JoinPath(options_.host_root, host_path));
}

std::string RuntimeSetup::AskedConfig() const {
  return found_.engine == options_.runtime ? options_.runtime_config : "";
}

std::string RuntimeSetup::AskedDropIn() const {
  return found_.engine == options_.runtime ? options_.drop_in_config : "";
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
    return outcome;  // somebody else gave it all that is wanted
  }
  std::string asked = options_.restart_mode;
  for (const host::Change& change : wanted.changes) {
    asked += change.content;
  }
  asked = Fingerprint(asked);
  if (journal.Note(kRefused) == asked) {
    TRY(TakeBack(journal, wanted));  // whoever noted it may have been killed before
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
    return outcome;  // as it was left, and the runtime that was seen to have read it
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
      TRY_ASSIGN(const auto gone, journal.Undo(path, TakeOut(options_, journal)));
      outcome.changed.insert(outcome.changed.end(), gone.begin(), gone.end());
    }
  }
  TRY(journal.SetNote(kDropIn, wanted.drop_in));
  const Status restarted = RestartIfNeeded(journal, effective, wanted.handlers, outcome);
  if (!restarted) {
    // First of all: whatever fails below, it is not tried again and again.
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
  // A process that nothing is noted of has read what the files said until now.
  const std::string read = note.starts_with(RunningPrefix())
                               ? WithoutPending(note)
                               : RunningNote(found_.process, Effective().value_or(""));
  TRY(journal.SetNote(kRunning, read + std::string(kPending)));
  if (RestartsItself()) {
    LetStartsFinish();
  }
  // Both places are ours until the one of before is empty.
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
  if (options_.set_as_default) {
    handlers.emplace_back();
  }
  return NoteHandlers(journal, handlers);
}

// Whether the process that runs has read the wanted configuration.
bool RuntimeSetup::HasRead(const host::Journal& journal, const std::string& effective,
                           const std::vector<std::string>& handlers) const {
  const std::string note = WithoutPending(journal.Note(kRunning));
  if (note == RunningNote(found_.process, effective)) {
    return true;
  }
  const bool since = !note.starts_with(RunningPrefix());
  // One that others have read its files without a new process shows it by a handler that is new.
  const bool reloads = ReloadsInPlace() && options_.restart_mode == "none" &&
                       !HasAll(ServedBefore(journal).handlers, handlers);
  // Started since, by others: it has read our files, for it has what they say.
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
  if (options_.restart_mode == "none") {
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
  const auto take_out = TakeOut(options_, journal);
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
  const auto now = FindRuntime(options_);
  if (!now) {
    return {};  // its supervisor tries again, and it finds the old files by itself
  }
  const bool lives_on =
      before.starts_with(format("{} {} ", now->process.pid, now->process.start_time));
  if (lives_on && !ReloadsInPlace()) {
    return {};  // it has read nothing of ours
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

bool ServesAsBefore(const Options& options, const host::Journal& journal) {
  Served served = ServedBefore(journal);
  std::erase(served.handlers, "");
  const std::string socket = ResolveInRoot(options.host_root, served.socket).value_or("");
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

Result<std::unique_ptr<RuntimeSetup>> MakeRuntimeSetup(const Options& options,
                                                       const host::Journal& journal) {
  TRY_ASSIGN(FoundRuntime found, FindRuntime(options));
  std::vector<std::string> drop_ins = NotedDropIns(journal);
  if (found.engine == "crio") {
    drop_ins.push_back(JoinPath(options.hooks_dir, options.hook_filename));
    return std::make_unique<CrioSetup>(options, std::move(found), std::move(drop_ins));
  }
  if (found.engine == "docker") {
    return std::make_unique<DockerSetup>(options, std::move(found), std::move(drop_ins));
  }
  return ContainerdSetup::Make(options, std::move(found), std::move(drop_ins));
}

}  // namespace gantry::container_toolkit
