// SPDX-License-Identifier: Apache-2.0
// Which command did the user mean? Decided from the table alone, so a test need not link every
// command.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"

namespace gantry::cli {
namespace {

std::vector<std::string_view> NamesOf(const Command& command) {
  std::vector<std::string_view> names = {command.name};
  names.insert(names.end(), command.also.begin(), command.also.end());
  return names;
}

}  // namespace

const Command* FindCommand(std::span<const Command> commands, std::string_view name) {
  for (const Command& command : commands) {
    if (command.name == name || std::ranges::find(command.also, name) != command.also.end()) {
      return &command;
    }
  }
  return nullptr;
}

std::vector<std::string_view> NearNames(std::span<const Command> commands, std::string_view name) {
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const Command& command : commands) {
    for (const std::string_view candidate : NamesOf(command)) {
      const size_t distance = EditDistance(candidate, name);
      const bool part = name.size() >= 3 && candidate.find(name) != std::string_view::npos;
      if (distance <= 2 || part) {
        near.emplace_back(distance, candidate);
      }
    }
  }
  std::ranges::sort(near);
  near.resize(std::min<size_t>(near.size(), 3));
  std::vector<std::string_view> names;
  names.reserve(near.size());
  for (const auto& [distance, candidate] : near) {
    names.push_back(candidate);
  }
  return names;
}

std::string HelpText(std::span<const Command> commands) {
  std::string text =
      "usage: gantry COMMAND [flags]   (or by the name of a link to it)\n\ncommands:\n";
  for (const Command& command : commands) {
    text += format("  {:<24} {}\n", command.name, command.summary);
    if (!command.also.empty()) {
      std::vector<std::string> also(command.also.begin(), command.also.end());
      text += format("  {:<24} also: {}\n", "", Join(also, ", "));
    }
  }
  text += "\n`gantry COMMAND --help` lists a command's flags; `gantry --version` the version.\n";
  return text;
}

std::string NamesText(std::span<const Command> commands) {
  std::string text;
  for (const Command& command : commands) {
    for (const std::string_view name : NamesOf(command)) {
      text += std::string(name) + "\n";
    }
  }
  return text;
}

}  // namespace gantry::cli
