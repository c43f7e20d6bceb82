// SPDX-License-Identifier: Apache-2.0
// Which program is called for a hook? nvidia-cdi-hook, or nvidia-ctk: NVIDIA's device plugin names
// the latter unless it is told another.
#include "container/hook_words.h"

#include <algorithm>

#include "base/paths.h"

namespace gantry::container {

std::vector<std::string> HookWords(const std::string& hook_path) {
  constexpr char kHook[] = "create-container";
  const std::string program = BaseName(hook_path);
  return program == "nvidia-ctk" ? std::vector<std::string>{program, "hook", kHook}
                                 : std::vector<std::string>{program, kHook};
}

bool HookWanted(std::string_view name, const std::vector<std::string>& disabled,
                const std::vector<std::string>& enabled) {
  return std::ranges::find(enabled, name) != enabled.end() ||
         std::ranges::none_of(
             disabled, [&](const std::string& each) { return each == "all" || each == name; });
}

}  // namespace gantry::container
