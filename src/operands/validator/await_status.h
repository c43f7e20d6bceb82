// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/status_files.h"

namespace gantry::validator {

// What the command waits for.
struct Awaited {
  std::vector<std::string> files = {};  // status files
  bool any = false;                     // any of them is enough
  std::string workload = {};  // only on nodes with this one (file workload-type); empty: all
};

// Whether there is nothing left to wait for.
bool IsThere(const Awaited& awaited, const host::StatusFiles& status);

// Command await-status: returns 0 once it is there, 1 if stopped before.
int RunAwaitStatus(int argc, char** argv);

}  // namespace gantry::validator
