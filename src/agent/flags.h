// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "base/command_line.h"
#include "base/error.h"
#include "base/log.h"

namespace gantry::agent {

// The command line of a program on a node: its upstream's flags, each with its environment
// variables. A flag wins over a variable. Flags may be spelled as Go's flag packages read them
// (base/command_line.h). The targets of the flags outlive the set.
class FlagSet {
 public:
  // The first that is set and not empty counts.
  using Variables = std::initializer_list<const char*>;
  using Take = std::function<Status(const std::string& text)>;

  // `program` is named in the help.
  FlagSet(const std::string& program, const std::string& description);

  // A flag with a value; of several the last one counts. `names` with commas between them:
  // "-o,--output-file,--output".
  template <typename T>
  CLI::Option* Value(const std::string& names, T& into, Variables variables,
                     const std::string& help) {
    return With(variables, app_.add_option(names, into, help))->take_last();
  }
  // The same for several values, separated by commas or given in several flags.
  template <typename T>
  CLI::Option* List(const std::string& names, T& into, Variables variables,
                    const std::string& help) {
    CLI::Option* const option = With(variables, app_.add_option(names, into, help));
    AsList(option);
    return option;
  }
  // A flag whose value `take` reads; its error is prefixed with the flag and the variable.
  CLI::Option* Custom(const std::string& names, Take take, Variables variables,
                      const std::string& help);
  // A switch, read as Go reads a bool ("1", "t", "T", "TRUE", "true", "True", "0", ...):
  // `--flag`, `--flag=true`, `--flag true`.
  CLI::Option* Bool(const std::string& names, bool& into, Variables variables,
                    const std::string& help);
  CLI::Option* Bool(const std::string& names, std::optional<bool>& into, Variables variables,
                    const std::string& help);
  CLI::Option* Bool(const std::string& names, std::function<void(bool)> take, Variables variables,
                    const std::string& help);
  // Accepted, because manifests set them, and ignored: with a value; a switch.
  template <typename T = std::string>
  CLI::Option* Unused(const std::string& names, Variables variables = {}) {
    const std::function<void(const T&)> ignore = [](const T&) {};
    return With(variables, app_.add_option_function<T>(names, ignore, "accepted, not used"))
        ->take_last();
  }
  void UnusedBool(const std::string& names, Variables variables = {});

  // For what only one program has: subcommands, positional arguments.
  CLI::App& app() { return app_; }

  // True: read. False: --help or --version, whose text has been printed. kInvalid names the flag.
  Result<bool> Parse(int argc, const char* const* argv);

 private:
  static CLI::Option* With(Variables variables, CLI::Option* option);

  CLI::App app_;
};

// The exit status of a program after parsing: the result of `run`; 0 after --help or --version; 2
// after a mistake, which is logged.
template <typename Flags, typename Run>
int RunWith(const char* program, Result<std::optional<Flags>> parsed, const Run& run) {
  if (!parsed.has_value()) {
    log::Error("{}: {}", program, parsed.error().message);
    return 2;
  }
  auto flags = *std::move(parsed);
  return flags.has_value() ? run(*std::move(flags)) : 0;
}

// For a program that only Gantry's programs start, with `count` positional arguments: 0 after
// --help or -h, which prints `usage`; 2 for another number of arguments, with `usage` as the error;
// nothing if it should run. `usage` without a newline.
std::optional<int> ExitCodeOfWords(int argc, const char* const* argv, int count, const char* usage);

}  // namespace gantry::agent
