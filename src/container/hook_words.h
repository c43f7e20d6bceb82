// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::container {

// How the arguments of a CDI document's hook begin for the program at `hook_path`: its name and the
// hook's, and between them the word `hook` for nvidia-ctk, of which hooks are a sub-command.
std::vector<std::string> HookWords(const std::string& hook_path);

}  // namespace gantry::container
