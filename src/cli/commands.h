// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// The programs in `gantry`: one executable; the first argument or its own file name selects.
namespace gantry::cli {

struct Command {
  std::string_view name;                   // as NVIDIA's image calls the program, if it has it
  std::span<const std::string_view> also;  // other names of the same
  std::string_view summary;                // one line for --help
  int (*run)(int argc, char** argv);       // argv[0] is the command's name; returns the exit code
};

// All of them, in the order of --help.
std::span<const Command> Commands();

// By one of its names; nullptr if there is none.
const Command* FindCommand(std::span<const Command> commands, std::string_view name);

// Names like a mistyped one, nearest first; at most three.
std::vector<std::string_view> NearNames(std::span<const Command> commands, std::string_view name);

// What --help prints.
std::string HelpText(std::span<const Command> commands);
// Every name, one a line, from which links to the program are made (deploy/image).
std::string NamesText(std::span<const Command> commands);

}  // namespace gantry::cli
