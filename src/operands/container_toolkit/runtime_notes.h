// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "container/cri_status.h"
#include "host/journal.h"
#include "host/processes.h"
#include "operands/container_toolkit/flags.h"

// The journal's notes on an engine, by name, and their readers.
namespace gantry::container_toolkit {

inline constexpr char kRunning[] =
    "runtime-running";  // "<pid> <start time> <fingerprint>[ pending]"
inline constexpr char kRefused[] = "runtime-refused";  // fingerprint of what was rolled back
inline constexpr char kDropIn[] = "drop-in";  // host paths of Gantry's drop-ins, a line each
// "<engine> <socket> <handler>,...": the last working state. An empty handler: the default one is
// Gantry's.
inline constexpr char kServes[] = "runtime-serves";
inline constexpr char kWithdrawn[] =
    "runtime-withdrawn";  // when it was restarted without Gantry's part, Unix ms
inline constexpr std::string_view kPending = " pending";

std::string Fingerprint(const std::string& text);
std::string RunningNote(const host::ProcessId& process, const std::string& effective);
std::string WithoutPending(std::string note);
std::vector<std::string> NotedDropIns(const host::Journal& journal);

struct Served {
  std::string engine;
  std::string socket;  // host path
  std::vector<std::string> handlers;
};
// The last working state; without an engine if there was none.
Served ServedBefore(const host::Journal& journal);

bool HasAll(const std::vector<std::string>& present, const std::vector<std::string>& wanted);
// CRI-O reports its handlers since 1.30; before, its own program has confirmed them.
bool Has(const std::string& engine, const container::CriStatus& status,
         const std::vector<std::string>& handlers);

std::optional<WallTime> WithdrawnAt(const host::Journal& journal);

// How Gantry's part is removed from a file that was edited since. `flags` outlives it.
host::Journal::TakeOut TakeOut(const Flags& flags, const host::Journal& journal);

}  // namespace gantry::container_toolkit
