// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/status_files.h"

namespace gantry::validator {

// What is waited for.
struct Awaited {
  std::vector<std::string> files = {};  // status files
  bool any = false;                     // one of them is enough
  std::string workload = {};  // only on nodes for this (the file workload-type); empty: on all
};

// Whether there is nothing to wait for any more.
bool IsThere(const Awaited& awaited, const host::StatusFiles& status);

// Command await-status: returns 0 once it is so, 1 when it is stopped before.
int RunAwaitStatus(int argc, char** argv);

}  // namespace gantry::validator
