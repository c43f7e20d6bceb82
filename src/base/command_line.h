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
// CLI11 would give the next word), and a switch of one letter with a value ("-w=false"). An empty
// value of a list counts as not given. An unknown word is named, also when a required subcommand or
// option is missing. The app says what each option takes, so it must have all of them.
void ParseWords(CLI::App& app, int argc, const char* const* argv);

// The same, but returns the exit code if the program must end: 0 after --help, 2 after a mistake
// (as Go's flag package). The help or the mistake is printed by then.
std::optional<int> ParseOrExitCode(CLI::App& app, int argc, const char* const* argv);

// Makes it a comma-separated list; spaces around a value are removed.
void AsList(CLI::Option* option);

}  // namespace gantry
