// SPDX-License-Identifier: Apache-2.0
// How are NVIDIA's runtimes removed from an engine, and when may the program that containers run
// with be deleted?
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "operands/container_toolkit/desired_files.h"
#include "operands/container_toolkit/runtime_notes.h"
#include "operands/container_toolkit/runtime_setup.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kUsersWithin(1);

// Everything that containers need when they end: the runtime's program, its other names, its
// config.toml.
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

}  // namespace

// Which pods need the runtime's program until they end; empty: none. Among those of the default
// handler only the ones older than `withdrawn`: since then that handler is the engine's own.
std::string RuntimeSetup::Users(const std::vector<std::string>& handlers,
                                std::optional<WallTime> withdrawn) const {
  if (handlers.empty()) {
    return "";  // the engine never had it
  }
  const auto sandboxes = Sandboxes(kUsersWithin);
  if (!sandboxes) {
    return format("it is not known which containers run by it: {}", sandboxes.error().message);
  }
  std::vector<std::string> pods;
  for (const container::CriSandbox& sandbox : *sandboxes) {
    const bool by_another =
        sandbox.handler.empty() && withdrawn.has_value() && sandbox.created >= *withdrawn;
    if (sandbox.ready && !by_another &&
        std::ranges::find(handlers, sandbox.handler) != handlers.end()) {
      pods.push_back(sandbox.pod);
    }
  }
  constexpr size_t kNamed = 3;
  const std::string more = pods.size() > kNamed ? format(", {} more", pods.size() - kNamed) : "";
  pods.resize(std::min(pods.size(), kNamed));
  return pods.empty() ? "" : format("containers run by it: {}{}", Join(pods, ", "), more);
}

// Undoes what `which` selects and makes the engine run without it; returns why it still runs with
// it, if it does.
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
    return format("{} runs with it until it is restarted; the restart mode is none", found_.engine);
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

}  // namespace gantry::container_toolkit
