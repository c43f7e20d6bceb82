// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/flags.h"
#include "host/status_files.h"

namespace gantry::agent {

// Which of the validator's status files a program waits for before it works.
struct StatusFlags {
  std::vector<std::string> wait_for;
  std::string status_dir;

  [[nodiscard]] bool WaitsFor(std::string_view file) const;
  // The missing or unreadable ones.
  [[nodiscard]] std::vector<std::string> Missing(const host::StatusFiles& files) const;
};

void AddStatusFlags(FlagSet& set, StatusFlags& to);

}  // namespace gantry::agent
