// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "operands/container_runtime/flag_words.h"

// nvidia-ctk: an administrator's tool on a node.
namespace gantry::container_runtime {

// `name`: the name by which it was called. Exit status 0, or 1 with the reason on standard error.
// With --help it lists its commands on standard output.
int RunToolkitCli(const std::string& name, const std::vector<std::string>& words);

// The commands below; each gets the words after its own name, and prints to standard output.
struct CliCall {
  std::vector<std::string> words;
  FlagWords::Environment environment;
  bool quiet = false;
};
Status CdiGenerate(const CliCall& call);
Status CdiList(const CliCall& call);
Status CdiTransformRoot(const CliCall& call);
Status RuntimeConfigure(const CliCall& call);
Status ConfigCommand(const CliCall& call);
Status CreateDeviceNodes(const CliCall& call);
Status CreateDevCharSymlinks(const CliCall& call);
Status PrintLibraryCache(const CliCall& call);
Status PrintInfo(const CliCall& call);

// A line for the administrator on standard error, unless the call is quiet.
void Say(const CliCall& call, const std::string& text);

// Writes a command's result to a file in one step, and makes its folder, or to standard output if
// the path is empty or "-".
Status PutOutput(const std::string& path, const std::string& text);

}  // namespace gantry::container_runtime
