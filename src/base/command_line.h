// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gantry {

// A command line's words without the program's, last first, as CLI::App::parse takes them. Go's
// flag packages know two forms that CLI11 does not: a long flag after a single dash, and an empty
// value ("--output-file=", which CLI11 would give the next word). A list with an empty value is as
// if it were not given. What an option takes is asked of the app, which must have all of them.
std::vector<std::string> WordsFor(const CLI::App& app, int argc, const char* const* argv);

// Parses them. What the program is to end with if it is not to go on: 0 after --help, 2 after a
// mistake (as Go's flag package); both have been said by then.
std::optional<int> ParseWords(CLI::App& app, int argc, const char* const* argv);

// Makes a list of it, whose values stand between commas; spaces around one are no part of it.
void AsList(CLI::Option* option);

}  // namespace gantry
