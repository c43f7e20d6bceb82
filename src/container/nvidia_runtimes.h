// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::container {

struct NvidiaRuntime {
  std::string name;     // the runtime handler
  std::string program;  // host path
};

// NVIDIA's three runtimes as every container engine gets them; a chosen name that is one of the
// fixed ones leaves the first as "nvidia". `program`: of the first; the others' lie beside it.
std::vector<NvidiaRuntime> NvidiaRuntimes(const std::string& chosen_name,
                                          const std::string& program);

// Whether a program is one of NVIDIA's runtimes, of whatever folder: it starts a low-level runtime
// and is none.
bool IsNvidiaProgram(const std::string& path);

}  // namespace gantry::container
