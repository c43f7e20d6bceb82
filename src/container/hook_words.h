// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::container {

// How the arguments of a CDI document's hook begin for the program at `hook_path`: its name and the
// hook's, and between them the word `hook` for nvidia-ctk, of which hooks are a sub-command.
std::vector<std::string> HookWords(const std::string& hook_path);

// Whether a document has a hook, by NVIDIA's name for it: "all" among the disabled is every one,
// and those enabled are stronger.
bool HookWanted(std::string_view name, const std::vector<std::string>& disabled,
                const std::vector<std::string>& enabled);

}  // namespace gantry::container
