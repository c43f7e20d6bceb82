// SPDX-License-Identifier: Apache-2.0
// What is the same for every engine: try out, write through the journal, restart if need be, ask,
// take back. Whether a restart is needed is told by what the running process has read: the journal
// keeps, for the process (pid and start time), a fingerprint of its effective configuration, so
// that a repaired drop-in or a restart of the toolkit costs none. It is noted as pending before the
// first file changes: whoever is killed in between leaves word that a restart may be due.
#include "operands/container_toolkit/runtime_setup.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/containerd.h"
#include "container/cri_call.h"
#include "container/cri_starts.h"
#include "container/cri_status.h"
#include "container/docker.h"
#include "container/docker_status.h"
#include "host/files.h"
#include "host/watch.h"
#include "operands/container_toolkit/containerd_setup.h"
#include "operands/container_toolkit/crio_setup.h"
#include "operands/container_toolkit/desired_files.h"
#include "operands/container_toolkit/docker_setup.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Notes in the journal.
constexpr char kRunning[] = "runtime-running";  // "<pid> <start time> <fingerprint>[ pending]"
constexpr char kRefused[] = "runtime-refused";  // fingerprint of what was rolled back
constexpr char kDropIn[] = "drop-in";           // host paths of ours, a line each
// "<engine> <socket> <handler>,...": what worked last. An empty handler: the default one is ours.
constexpr char kServes[] = "runtime-serves";
constexpr char kWithdrawn[] = "runtime-withdrawn";  // when it was restarted without ours, Unix ms
constexpr std::string_view kPending = " pending";
constexpr char kUsualDropIn[] = "/etc/containerd/conf.d/99-nvidia.toml";

std::string Fingerprint(const std::string& text) {
  unsigned long long hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return format("{:016x}-{}", hash, text.size());
}

std::string RunningNote(const host::ProcessId& process, const std::string& effective) {
  return format("{} {} {}", process.pid, process.start_time, Fingerprint(effective));
}

std::string WithoutPending(std::string note) {
  if (note.ends_with(kPending)) {
    note.resize(note.size() - kPending.size());
  }
  return note;
}

std::vector<std::string> NotedDropIns(const host::Journal& journal) {
  return Split(journal.Note(kDropIn), '\n');
}

// How ours is taken out of a file that somebody edited since.
host::Journal::TakeOut TakeOut(const Flags& flags, const host::Journal& journal) {
  std::vector<std::string> drop_ins = NotedDropIns(journal);
  if (drop_ins.empty()) {
    drop_ins.emplace_back(kUsualDropIn);
  }
  return [&flags, drop_ins](const std::string& path, std::string text) {
    if (path.ends_with(".json")) {
      return container::WithoutNvidiaRuntimes(text, RuntimeProgram(flags));
    }
    for (const std::string& drop_in : drop_ins) {
      text = container::WithoutOurPart(text, drop_in);
    }
    return text;
  };
}

struct Served {
  std::string engine;
  std::string socket;  // host path
  std::vector<std::string> handlers;
};

Served ServedBefore(const host::Journal& journal) {
  const std::vector<std::string> words = Split(journal.Note(kServes), ' ');
  return words.size() == 3 ? Served{words[0], words[1], Split(words[2], ',')} : Served{};
}

std::optional<WallTime> WithdrawnAt(const host::Journal& journal) {
  const auto at = ParseInt(journal.Note(kWithdrawn));
  return at ? std::optional(WallTime(milliseconds(*at))) : std::nullopt;
}

// All that containers need when they end: the runtime's program, its other names, its config.toml.
Result<host::Journal::Which> OfTheProgram(const Flags& flags, const host::Journal& journal) {
  TRY_ASSIGN(const std::string folder, journal.Resolve({.kind = host::Change::Kind::kDirectory,
                                                        .path = ToolkitDir(flags),
                                                        .content = {},
                                                        .pristine = {}}));
  return [folder](const std::string& path) {
    return path == folder || path.starts_with(folder + "/");
  };
}

host::Journal::Which Not(host::Journal::Which which) {
  return [which = std::move(which)](const std::string& path) { return !which(path); };
}

bool HasAll(const std::vector<std::string>& present, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& name) {
    return std::ranges::find(present, name) != present.end();
  });
}

}  // namespace

bool HasHandlers(const std::string& engine, const container::CriStatus& status,
                 const std::vector<std::string>& handlers) {
  return HasAll(status.handlers, handlers) || (engine == "crio" && status.handlers.empty());
}

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
    return outcome;  // somebody else gave it all that is wanted
  }
  std::string asked = flags_.restart_mode;
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
      TRY_ASSIGN(const auto gone, journal.Undo(path, TakeOut(flags_, journal)));
      outcome.changed.insert(outcome.changed.end(), gone.begin(), gone.end());
    }
  }
  TRY(journal.SetNote(kDropIn, wanted.drop_in));
  const auto restarted = RestartIfNeeded(journal, effective, wanted.handlers);
  if (!restarted) {
    // First of all: whatever fails below, it is not tried again and again.
    TRY(journal.SetNote(kRefused, asked));
    TRY(TakeBack(journal, wanted));
    return std::unexpected(
        restarted.error().In(format("configure {} (taken back)", found_.engine)));
  }
  outcome.restarted = *restarted;
  TRY(journal.SetNote(kRefused, ""));
  if (!journal.Note(kRunning).ends_with(kPending)) {
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
  if (flags_.set_as_default) {
    handlers.emplace_back();
  }
  return NoteHandlers(journal, handlers);
}

// Restarts the engine unless the process that runs has read the wanted configuration; true if it
// was restarted.
Result<bool> RuntimeSetup::RestartIfNeeded(host::Journal& journal, const std::string& effective,
                                           const std::vector<std::string>& handlers) {
  const std::string good = RunningNote(found_.process, effective);
  const std::string note = WithoutPending(journal.Note(kRunning));
  const bool known = note.starts_with(RunningPrefix());
  // Started since, by others: it has read our files, for it has what they say.
  if (note == good || (!known && Answers({}, handlers, seconds(2)).has_value())) {
    TRY(journal.SetNote(kRunning, good));
    return false;
  }
  const std::string read = known ? note : RunningNote(found_.process, "");
  TRY(journal.SetNote(kRunning, read + std::string(kPending)));
  if (flags_.restart_mode == "none") {
    log::Warning("{} has to be restarted for its new configuration; restart mode is none",
                 found_.engine);
    return false;
  }
  TRY_ASSIGN(const host::ProcessId now, RestartAndWait(handlers));
  TRY(journal.SetNote(kRunning, RunningNote(now, effective)));
  return true;
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

// Takes back what `which` chooses and has the engine run without it; why it runs with it still, if
// it does.
Result<std::string> RuntimeSetup::Withdraw(host::Journal& journal,
                                           const host::Journal::Which& which, Outcome& outcome) {
  if (!journal.Note(kRunning).starts_with(RunningPrefix())) {
    TRY(journal.SetNote(kRunning, RunningNote(found_.process, Effective().value_or(""))));
  }
  if (RestartsItself()) {
    LetStartsFinish();
  }
  TRY_ASSIGN(outcome.changed, journal.UndoWhere(which, TakeOut(flags_, journal)));
  const auto after = Effective();
  if (!after) {
    return format("{} is not restarted: {}", found_.engine, after.error().message);
  }
  if (WithoutPending(journal.Note(kRunning)) == RunningNote(found_.process, *after)) {
    return "";
  }
  if (flags_.restart_mode == "none") {
    return format("{} has to be restarted without it; restart mode is none", found_.engine);
  }
  TRY_ASSIGN(const host::ProcessId now, RestartAndWait({}));
  outcome.restarted = true;
  TRY(journal.SetNote(kRunning, RunningNote(now, *after)));
  const auto now_ms =
      std::chrono::ceil<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  TRY(journal.SetNote(kWithdrawn, std::to_string(now_ms.count())));
  return "";
}

Result<RuntimeSetup::Outcome> RuntimeSetup::Leave(host::Journal& journal) {
  Outcome outcome;
  if (!IsConfigured(journal)) {
    return outcome;
  }
  std::vector<std::string> paths = EditedFiles();
  paths.insert(paths.end(), drop_ins_.begin(), drop_ins_.end());
  for (std::string& path : paths) {
    TRY_ASSIGN(path, journal.Resolve({.path = path, .content = {}, .pristine = {}}));
  }
  const auto of_the_engine = [&paths](const std::string& path) {
    return std::ranges::find(paths, path) != paths.end();
  };
  TRY_ASSIGN(const std::string why, Withdraw(journal, of_the_engine, outcome));
  if (!why.empty()) {
    outcome.remarks.push_back(why);
  }
  for (const char* note : {kRunning, kRefused, kDropIn, kServes, kWithdrawn}) {
    TRY(journal.SetNote(note, ""));
  }
  return outcome;
}

Result<RuntimeSetup::Outcome> RuntimeSetup::Remove(host::Journal& journal) {
  Outcome outcome;
  if (IsConfigured(journal)) {
    TRY_ASSIGN(auto of_the_program, OfTheProgram(flags_, journal));
    TRY_ASSIGN(outcome.kept, Withdraw(journal, Not(std::move(of_the_program)), outcome));
    if (outcome.kept.empty()) {
      outcome.kept = Users(ServedBefore(journal).handlers, WithdrawnAt(journal));
    }
  }
  if (outcome.kept.empty()) {
    TRY_ASSIGN(const auto changed, journal.UndoAll(TakeOut(flags_, journal)));
    outcome.changed.insert(outcome.changed.end(), changed.begin(), changed.end());
  }
  return outcome;
}

Result<RuntimeSetup::Outcome> RemoveWithoutRuntime(const Flags& flags, host::Journal& journal) {
  RuntimeSetup::Outcome outcome;
  const std::vector<std::string> running = Split(journal.Note(kRunning), ' ');
  const auto pid = ParseInt(running.empty() ? "" : running.front());
  const auto process = host::Identify(static_cast<pid_t>(pid.value_or(0)));
  if (process && running.size() > 1 && running[1] == std::to_string(process->start_time)) {
    outcome.kept = format("process {} runs with it still", process->pid);
    TRY_ASSIGN(auto of_the_program, OfTheProgram(flags, journal));
    TRY_ASSIGN(outcome.changed,
               journal.UndoWhere(Not(std::move(of_the_program)), TakeOut(flags, journal)));
    return outcome;
  }
  TRY_ASSIGN(outcome.changed, journal.UndoAll(TakeOut(flags, journal)));
  return outcome;
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
  return status && status->ready && HasHandlers(served.engine, *status, served.handlers);
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
