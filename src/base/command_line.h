// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gantry {

// Parses a command line; throws what CLI::App::parse throws. Go's flag packages know three forms
// that CLI11 does not: a long flag after a single dash, an empty value ("--output-file=", which
// CLI11 would give the next word), and a switch of one letter with a value ("-w=false"). A list
// with an empty value is as if it were not given. A word that is not known is named, also where a
// subcommand or an option that must be there is missing. What an option takes is asked of the app,
// which must have all of them.
void ParseWords(CLI::App& app, int argc, const char* const* argv);

// The same. What the program is to end with if it is not to go on: 0 after --help, 2 after a
// mistake (as Go's flag package); both have been said by then.
std::optional<int> ParseOrExitCode(CLI::App& app, int argc, const char* const* argv);

// Makes a list of it, whose values stand between commas; spaces around one are no part of it.
void AsList(CLI::Option* option);

}  // namespace gantry
