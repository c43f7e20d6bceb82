// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "container/containerd.h"
#include "container/nvidia_runtimes.h"
#include "container/toml_library.h"

// The runtimes in the table of containerd's CRI plugin. containerd reads the keys of a runtime's
// options without regard to letter case: whatever is read, replaced or added there is so too.
namespace gantry::container {

// The CRI plugin's name in a file of that schema, and its table; nullptr if the file has none.
std::string CriPlugin(int schema);
const toml::table* CriTable(const toml::table& root, int schema);

// Whether a runtime's table (nullptr: there is none) has this program, in every spelling of the
// key: which of several counts depends on containerd's version.
bool RunsProgram(const toml::table* runtime, const std::string& program);

// A runtime of ours: everything that the node's default runtime has, else runc, else crun, but the
// program. `cri`: what the files say now.
toml::table RuntimeTable(const ContainerdWish& wish, const toml::table& cri,
                         const NvidiaRuntime& runtime, int schema);

// Programs of the default runtime, of runc and of crun that are none of NVIDIA's.
std::vector<std::string> LowLevelPrograms(const toml::table& cri);

}  // namespace gantry::container
