// SPDX-License-Identifier: Apache-2.0
// How does an engine reload its files, and when has it? Pending container starts end first; then
// the engine's systemd unit, its process or its supervisor reloads it.
#include <signal.h>

#include <algorithm>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/cri_call.h"
#include "container/cri_starts.h"
#include "container/cri_status.h"
#include "host/files.h"
#include "host/watch.h"
#include "operands/container_toolkit/runtime_notes.h"
#include "operands/container_toolkit/runtime_setup.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kAskAgain(20);
constexpr milliseconds kAnswerTakes(200);
constexpr seconds kStartsWithin(1);

}  // namespace

Result<host::ProcessId> RuntimeSetup::RestartAndWait(const std::vector<std::string>& handlers) {
  if (!RestartsItself()) {
    LetStartsFinish();
    TRY(Restart(found_.process));
  }
  const auto deadline = steady_clock::now() + AnswerWithin();
  // A watch on the socket saves some milliseconds; a host without a free inotify instance is no
  // reason to abandon a working configuration.
  auto watcher = host::Watcher::Create();
  const Status watching = watcher
                              ? watcher->Add(Here(found_.socket), host::Watcher::For::kExistence)
                              : std::unexpected(watcher.error());
  if (!watching) {
    log::Warning("{}; {} is asked again and again instead", watching.error().message,
                 found_.engine);
  }
  std::string missing = "no process serves its socket";
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

// The kubelet's call would end with EOF, and it would start the container a second time.
void RuntimeSetup::LetStartsFinish() const {
  const auto deadline = steady_clock::now() + container::kStartTakes;
  const WallTime begin = std::chrono::system_clock::now();
  auto starts = StartsUnderWay(begin, kStartsWithin);
  if (starts && !starts->empty()) {
    log::Info("waiting up to {} s for the start of {}", container::kStartTakes.count(),
              Join(*starts, ", "));
    do {
      host::WaitReadable({}, steady_clock::now() + kAskAgain);
      starts = StartsUnderWay(begin, kStartsWithin);
    } while (starts && !starts->empty() && steady_clock::now() < deadline);
    // A container runs before its start call returns.
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
  TRY_ASSIGN(const std::string containers,
             container::CallCri(Here(found_.socket), "ListContainers", "", limit));
  TRY_ASSIGN(const auto made, container::ParseCriContainers(containers));
  TRY_ASSIGN(const auto pods, Sandboxes(limit));
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
  if (!Has(found_.engine, status, handlers)) {
    return Fail(ErrorKind::kUnavailable, "it has not all of " + Join(handlers, ", "));
  }
  return peer;
}

// Its systemd unit, from its cgroup; empty without systemd.
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
  const bool by_unit = flags_.restart_mode == "systemd" || !SignalRestarts();
  std::string unit = flags_.restart_mode == "signal" && !by_unit ? "" : SystemdUnit(process);
  if (unit.empty() && by_unit) {
    unit = UsualUnit();
  }
  if (!unit.empty()) {
    const Status done = RestartUnit(unit);
    if (done || by_unit || done.error().kind != ErrorKind::kNotFound) {
      return done;
    }
  }
  log::Info("restarting {} (process {}) by SIGHUP", found_.engine, process.pid);
  return host::SendSignal(process, SIGHUP);
}

Status RuntimeSetup::RestartUnit(const std::string& unit) const {
  log::Info("restarting {}", unit);
  for (const char* systemctl :
       {"/usr/bin/systemctl", "/bin/systemctl", "/run/current-system/sw/bin/systemctl"}) {
    const auto done = host::RunProgram(
        {{systemctl, "restart", "--no-block", unit}, flags_.host_root, seconds(5)});
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

Result<std::vector<container::CriSandbox>> RuntimeSetup::Sandboxes(milliseconds limit) const {
  TRY_ASSIGN(const std::string message,
             container::CallCri(Here(found_.socket), "ListPodSandbox", "", limit));
  return container::ParseCriSandboxes(message);
}

}  // namespace gantry::container_toolkit
