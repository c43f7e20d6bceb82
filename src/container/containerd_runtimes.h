// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "container/containerd.h"
#include "container/nvidia_runtimes.h"
#include "container/toml_library.h"

// The runtimes in the table of containerd's CRI plugin. containerd ignores the letter case of keys
// in a runtime's options; so does this code.
namespace gantry::container {

// The CRI plugin's name in a file of that schema, and its table; nullptr if the file has none.
std::string CriPlugin(int schema);
const toml::table* CriTable(const toml::table& root, int schema);

// Whether a runtime's table (nullptr: there is none) has this program, in every spelling of the
// key: which one counts depends on containerd's version.
bool RunsProgram(const toml::table* runtime, const std::string& program);

// A Gantry runtime: all settings of the node's default runtime, else of runc, else of crun, but
// another program. `cri`: the present table of the files.
toml::table RuntimeTable(const ContainerdWish& wish, const toml::table& cri,
                         const NvidiaRuntime& runtime, int schema);

// Programs of the default runtime, of runc and of crun, without NVIDIA's.
std::vector<std::string> LowLevelPrograms(const toml::table& cri);

}  // namespace gantry::container
