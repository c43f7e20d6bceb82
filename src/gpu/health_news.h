// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "gpu/health.h"
#include "policy/reasons.h"

namespace gantry::gpu {

// The message about a change of a GPU's health, for the log and an event.
struct HealthNews {
  enum class Level { kInfo, kWarning, kError };
  Level level = Level::kInfo;
  // Of an event on the Node, a Warning unless the GPU is healthy again; nullptr: a log line only.
  const reasons::Reason* event = nullptr;
  std::string message = {};
};
HealthNews NewsOf(const HealthChange& change);
// Writes the log line.
void Log(const HealthNews& news);

}  // namespace gantry::gpu
