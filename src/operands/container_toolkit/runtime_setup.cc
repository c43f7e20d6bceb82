// SPDX-License-Identifier: Apache-2.0
// What is the same for every engine: try out, write through the journal, restart if need be, ask,
// take back. Whether a restart is needed is told by what the running process has read: the journal
// keeps, for the process (pid and start time), a fingerprint of its effective configuration, so
// that a repaired drop-in or a restart of the toolkit costs none.
#include "operands/container_toolkit/runtime_setup.h"

#include <signal.h>

#include <algorithm>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/containerd.h"
#include "container/cri_call.h"
#include "container/cri_starts.h"
#include "container/cri_status.h"
#include "container/docker.h"
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
using std::chrono::steady_clock;

constexpr milliseconds kAskAgain(20);
constexpr milliseconds kAnswerTakes(200);
constexpr seconds kAskWithin(1);
// Notes in the journal.
constexpr char kRunning[] = "runtime-running";  // "<pid> <start time> <fingerprint>"
constexpr char kRefused[] = "runtime-refused";  // fingerprint of what was rolled back
constexpr char kDropIn[] = "drop-in";           // host path of ours
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

// How ours is taken out of a file that somebody edited since.
host::Journal::TakeOut TakeOut(const Options& options, const host::Journal& journal) {
  const std::string noted = journal.Note(kDropIn);
  const std::string drop_in = noted.empty() ? kUsualDropIn : noted;
  return [&options, drop_in](const std::string& path, const std::string& text) {
    return path.ends_with(".json") ? container::WithoutNvidiaRuntimes(text, RuntimeProgram(options))
                                   : container::WithoutOurPart(text, drop_in);
  };
}

bool HasAll(const std::vector<std::string>& present, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& name) {
    return std::ranges::find(present, name) != present.end();
  });
}

}  // namespace

std::string RuntimeSetup::Here(const std::string& host_path) const {
  return ResolveInRoot(options_.host_root, host_path)
      .value_or(JoinPath(options_.host_root, host_path));
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
    return outcome;  // somebody else gave it all that is wanted
  }
  std::string asked;
  for (const host::Change& change : wanted.changes) {
    asked += change.content;
  }
  asked = Fingerprint(asked);
  if (journal.Note(kRefused) == asked) {
    return Fail(ErrorKind::kTimeout,
                format("configure {}: it did not come back with this configuration before; "
                       "change it or its files to have it tried again",
                       found_.engine));
  }
  const bool in_place = InPlace(wanted);
  const std::string note = journal.Note(kRunning);
  const bool known = note.starts_with(RunningPrefix());
  if (in_place && (!wanted.needs_restart || (known && !note.ends_with(" pending")))) {
    return outcome;  // as it was left, and the runtime that was seen to have read it
  }
  std::string effective;
  if (wanted.needs_restart) {
    TRY_ASSIGN(effective, TryOut(wanted));
  }
  if (!in_place) {
    if (wanted.needs_restart && !known) {
      // What this process has read is what the files said until now.
      TRY(journal.SetNote(kRunning, RunningNote(found_.process, Effective().value_or(""))));
    }
    if (wanted.needs_restart && RestartsItself()) {
      LetStartsFinish();
    }
    TRY(journal.SetNote(kDropIn, wanted.drop_in));
    TRY_ASSIGN(outcome.changed, journal.Apply(wanted.changes));
  }
  if (!wanted.needs_restart) {
    return outcome;
  }
  const auto restarted = RestartIfNeeded(journal, effective, wanted.handlers);
  if (!restarted) {
    TRY(TakeBack(journal, wanted));
    TRY(journal.SetNote(kRefused, asked));
    return std::unexpected(
        restarted.error().In(format("configure {} (taken back)", found_.engine)));
  }
  outcome.restarted = *restarted;
  TRY(journal.SetNote(kRefused, ""));
  return outcome;
}

// Restarts the engine unless the process that runs has read the wanted configuration; true if it
// was restarted.
Result<bool> RuntimeSetup::RestartIfNeeded(host::Journal& journal, const std::string& effective,
                                           const std::vector<std::string>& handlers) {
  const std::string good = RunningNote(found_.process, effective);
  const std::string note = journal.Note(kRunning);
  if (note == good) {
    return false;
  }
  if (!note.starts_with(RunningPrefix()) && Answers({}, handlers, seconds(2)).has_value()) {
    // Started since, by others: it has read our files, for it has what they say.
    TRY(journal.SetNote(kRunning, good));
    return false;
  }
  TRY(journal.SetNote(kRunning, RunningNote(found_.process, "") + " pending"));
  if (options_.restart_mode == "none") {
    log::Warning("{} has to be restarted for its new configuration; restart mode is none",
                 found_.engine);
    return false;
  }
  TRY_ASSIGN(const host::ProcessId now, RestartAndWait(handlers));
  TRY(journal.SetNote(kRunning, RunningNote(now, effective)));
  return true;
}

Status RuntimeSetup::TakeBack(host::Journal& journal, const Wanted& wanted) {
  const auto take_out = TakeOut(options_, journal);
  for (auto change = wanted.changes.rbegin(); change != wanted.changes.rend(); ++change) {
    TRY(journal.Undo(change->path, take_out));
  }
  TRY(journal.SetNote(kRunning, ""));
  // It may be gone, its supervisor trying again: then it finds the old files by itself.
  const auto now = FindRuntime(options_);
  return now && !RestartsItself() ? Restart(now->process) : Status{};
}

Result<host::ProcessId> RuntimeSetup::RestartAndWait(const std::vector<std::string>& handlers) {
  if (!RestartsItself()) {
    LetStartsFinish();
    TRY(Restart(found_.process));
  }
  const auto deadline = steady_clock::now() + AnswerWithin();
  // Being told when the socket is made anew saves some milliseconds; a host without a free inotify
  // instance is no reason to give up a configuration that works.
  auto watcher = host::Watcher::Create();
  const Status watching = watcher
                              ? watcher->Add(Here(found_.socket), host::Watcher::For::kExistence)
                              : std::unexpected(watcher.error());
  if (!watching) {
    log::Warning("{}; {} is asked again and again instead", watching.error().message,
                 found_.engine);
  }
  std::string missing = "nobody serves its socket";
  while (steady_clock::now() < deadline) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    const auto now = Answers(found_.process, handlers, left);
    if (now) {
      return *now;
    }
    missing = now.error().message;
    const auto again = std::min(deadline, steady_clock::now() + kAskAgain);
    if (watching) {
      watcher->Next(-1, again);
    } else {
      host::WaitReadable({}, again);
    }
  }
  return Fail(ErrorKind::kTimeout,
              format("wait for {}: {} after {} s", found_.engine, missing, AnswerWithin().count()));
}

// The kubelet would see its call end with EOF, and start the container a second time.
void RuntimeSetup::LetStartsFinish() const {
  const auto deadline = steady_clock::now() + container::kStartTakes;
  const WallTime begin = std::chrono::system_clock::now();
  auto starts = StartsUnderWay(begin, kAskWithin);
  if (starts && !starts->empty()) {
    log::Info("waiting up to {} s for the start of {}", container::kStartTakes.count(),
              Join(*starts, ", "));
    do {
      host::WaitReadable({}, steady_clock::now() + kAskAgain);
      starts = StartsUnderWay(begin, kAskWithin);
    } while (starts && !starts->empty() && steady_clock::now() < deadline);
    // A container runs before whoever asked for it is told so.
    host::WaitReadable({}, steady_clock::now() + kAnswerTakes);
  }
  if (!starts) {
    log::Info("no start of a container is waited for: {}", starts.error().message);
  } else if (!starts->empty()) {
    log::Warning("the restart cuts off the start of {}", Join(*starts, ", "));
  }
}

Result<std::vector<std::string>> RuntimeSetup::StartsUnderWay(WallTime begin,
                                                              milliseconds limit) const {
  const std::string socket = Here(found_.socket);
  TRY_ASSIGN(const std::string containers, container::CallCri(socket, "ListContainers", "", limit));
  TRY_ASSIGN(const std::string sandboxes, container::CallCri(socket, "ListPodSandbox", "", limit));
  TRY_ASSIGN(const auto made, container::ParseCriContainers(containers));
  TRY_ASSIGN(const auto pods, container::ParseCriSandboxes(sandboxes));
  return container::StartsUnderWay(pods, made, begin);
}

Result<host::ProcessId> RuntimeSetup::Answers(const host::ProcessId& before,
                                              const std::vector<std::string>& handlers,
                                              milliseconds limit) const {
  TRY_ASSIGN(const host::ProcessId peer, host::SocketPeer(Here(found_.socket)));
  if (peer == before) {
    return Fail(ErrorKind::kUnavailable, "it was not restarted");
  }
  TRY_ASSIGN(const container::CriStatus status,
             container::AskCriStatus(Here(found_.socket), limit));
  if (!status.ready) {
    return Fail(ErrorKind::kUnavailable, "it says that it is not ready");
  }
  if (!HasAll(status.handlers, handlers)) {
    return Fail(ErrorKind::kUnavailable, "it has not all of " + Join(handlers, ", "));
  }
  return peer;
}

// The systemd unit that runs it, from its cgroup; empty without systemd.
std::string RuntimeSetup::SystemdUnit(const host::ProcessId& process) const {
  const auto systemd = host::Inspect(Here("/run/systemd/system"));
  if (!systemd || systemd->kind != host::FileKind::kDirectory) {
    return "";
  }
  const std::string cgroups = ReadFile(format("/proc/{}/cgroup", process.pid)).value_or("");
  for (const std::string& line : Split(cgroups, '\n')) {
    const std::string name = BaseName(line);
    if (name.ends_with(".service")) {
      return name;
    }
  }
  return "";
}

Status RuntimeSetup::Restart(const host::ProcessId& process) const {
  std::string unit = options_.restart_mode == "signal" ? "" : SystemdUnit(process);
  if (unit.empty() && options_.restart_mode == "systemd") {
    unit = UsualUnit();
  }
  if (unit.empty()) {
    log::Info("restarting {} (process {}) by SIGHUP", found_.engine, process.pid);
    return host::SendSignal(process, SIGHUP);
  }
  return RestartUnit(unit);
}

Status RuntimeSetup::RestartUnit(const std::string& unit) const {
  log::Info("restarting {}", unit);
  for (const char* systemctl : {"/usr/bin/systemctl", "/bin/systemctl"}) {
    const auto done = host::RunProgram(
        {{systemctl, "restart", "--no-block", unit}, options_.host_root, seconds(5)});
    if (!done && done.error().kind == ErrorKind::kNotFound) {
      continue;
    }
    if (!done) {
      return std::unexpected(done.error());
    }
    return done->exit_status == 0
               ? Status{}
               : Fail(ErrorKind::kInternal, format("restart {}: {}", unit, Trim(done->errors)));
  }
  return Fail(ErrorKind::kNotFound,
              format("restart {}: there is no systemctl on the host", found_.engine));
}

Result<RuntimeSetup::Outcome> RuntimeSetup::Remove(host::Journal& journal) {
  Outcome outcome;
  // It finds the files; one that somebody broke since is no reason to leave ours on the host.
  [[maybe_unused]] const auto present = Plan();
  const auto before = Effective();
  if (RestartsItself()) {
    LetStartsFinish();
  }
  TRY_ASSIGN(outcome.changed, journal.UndoAll(TakeOut(options_, journal)));
  const auto after = Effective();
  if (!after) {
    log::Warning("{} is not restarted: {}", found_.engine, after.error().message);
  } else if ((!before || *after != *before) && options_.restart_mode != "none") {
    TRY(RestartAndWait({}));
    outcome.restarted = true;
  }
  return outcome;
}

Result<RuntimeSetup::Outcome> RemoveWithoutRuntime(const Options& options, host::Journal& journal) {
  RuntimeSetup::Outcome outcome;
  TRY_ASSIGN(outcome.changed, journal.UndoAll(TakeOut(options, journal)));
  return outcome;
}

Result<std::unique_ptr<RuntimeSetup>> MakeRuntimeSetup(const Options& options) {
  TRY_ASSIGN(FoundRuntime found, FindRuntime(options));
  if (found.engine == "crio") {
    return std::make_unique<CrioSetup>(options, std::move(found));
  }
  if (found.engine == "docker") {
    return std::make_unique<DockerSetup>(options, std::move(found));
  }
  return ContainerdSetup::Make(options, std::move(found));
}

}  // namespace gantry::container_toolkit
