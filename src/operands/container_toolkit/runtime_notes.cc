// SPDX-License-Identifier: Apache-2.0
// Which configuration has the engine read, and which handlers does it serve? The journal keeps, for
// the process (pid and start time), a fingerprint of its effective configuration.
#include "operands/container_toolkit/runtime_notes.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "container/containerd.h"
#include "container/docker.h"
#include "operands/container_toolkit/desired_files.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::milliseconds;

constexpr char kUsualDropIn[] = "/etc/containerd/conf.d/99-nvidia.toml";

}  // namespace

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

Served ServedBefore(const host::Journal& journal) {
  const std::vector<std::string> words = Split(journal.Note(kServes), ' ');
  return words.size() == 3 ? Served{words[0], words[1], Split(words[2], ',')} : Served{};
}

std::optional<WallTime> WithdrawnAt(const host::Journal& journal) {
  const auto at = ParseInt(journal.Note(kWithdrawn));
  return at ? std::optional(WallTime(milliseconds(*at))) : std::nullopt;
}

bool HasAll(const std::vector<std::string>& present, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& name) {
    return std::ranges::find(present, name) != present.end();
  });
}

bool Has(const std::string& engine, const container::CriStatus& status,
         const std::vector<std::string>& handlers) {
  return HasAll(status.handlers, handlers) || (engine == "crio" && status.handlers.empty());
}

}  // namespace gantry::container_toolkit
