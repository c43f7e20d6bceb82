// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "base/error.h"

namespace gantry {

// What a shell's command prints on its standard output, and its exit status.
struct Ran {
  std::string output;
  int code = 0;
};

// Runs the command to its end.
inline Ran Shell(const std::string& command) {
  Ran ran;
  FILE* pipe = popen(command.c_str(), "r");
  CHECK(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    ran.output.append(buffer.data(), count);
  }
  ran.code = WEXITSTATUS(pclose(pipe));
  return ran;
}

}  // namespace gantry
