// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::container {

struct NvidiaRuntime {
  std::string name;     // the runtime handler
  std::string program;  // host path
};

// NVIDIA's three runtimes, as every container engine gets them. If the chosen name is one of the
// fixed ones, the first stays "nvidia". `program`: of the first; the others are in the same folder.
std::vector<NvidiaRuntime> NvidiaRuntimes(const std::string& chosen_name,
                                          const std::string& program);

// Whether a program is one of NVIDIA's runtimes, in any folder: these start a low-level runtime and
// are not one.
bool IsNvidiaProgram(const std::string& path);

}  // namespace gantry::container
