// SPDX-License-Identifier: Apache-2.0

// Is the node ready for another container's program? Status files tell. NVIDIA's images do not
// wait: their pods have an init container that waits, with this program.

#include "operands/validator/await_status.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/command_line.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/signals.h"
#include "host/watch.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

Result<bool> Wait(const Awaited& awaited, const std::string& directory, int sleep_seconds) {
  const host::Signals signals;
  TRY_ASSIGN(const host::StatusFiles status, host::StatusFiles::Open(directory));
  Result<host::Watcher> watcher = host::Watcher::Create();
  if (const Status added = watcher ? watcher->Add(directory) : Status(); !added) {
    watcher = std::unexpected(added.error());
  }
  if (!watcher) {
    log::Warning("{}; it is looked at every {} s instead", watcher.error().message, sleep_seconds);
  }
  if (!IsThere(awaited, status)) {
    log::Info("waiting for {}", Join(awaited.files, awaited.any ? " or " : ", "));
  }
  while (!IsThere(awaited, status)) {
    const std::array stop = {signals.stop_fd()};
    const auto again = std::chrono::steady_clock::now() + std::chrono::seconds(sleep_seconds);
    if (watcher ? watcher->Next(signals.stop_fd()).stopped : host::WaitReadable(stop, again)[0]) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool IsThere(const Awaited& awaited, const host::StatusFiles& status) {
  if (!awaited.workload.empty()) {
    const auto text = ReadFile(JoinPath(status.directory(), names::kWorkloadType));
    if (!text.has_value()) {
      return false;
    }
    if (text->substr(0, text->find_first_of(" \n")) != awaited.workload) {
      return true;
    }
  }
  const auto counts = [&](const std::string& name) { return status.Read(name).has_value(); };
  return awaited.any ? std::ranges::any_of(awaited.files, counts)
                     : std::ranges::all_of(awaited.files, counts);
}

int RunAwaitStatus(int argc, char** argv) {
  Awaited awaited;
  std::string directory = names::kValidationsDir;
  int sleep_seconds = 5;
  CLI::App app("Waits until this node's status files are there", "await-status");
  app.add_option("files", awaited.files, "Names of status files")->required();
  app.add_flag("--any", awaited.any, "One of them is enough");
  app.add_option("--workload", awaited.workload, "Do not wait on nodes that are for another one");
  app.add_option("--directory", directory, "Where they are")->capture_default_str();
  app.add_option("--sleep-interval-seconds", sleep_seconds,
                 "Without a free inotify instance: until it is looked again")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return *code;
  }
  const Result<bool> there = Wait(awaited, directory, sleep_seconds);
  if (!there.has_value()) {
    log::Error("await {}: {}", Join(awaited.files, ", "), there.error().message);
  }
  return there.value_or(false) ? 0 : 1;
}

}  // namespace gantry::validator
