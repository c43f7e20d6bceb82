// SPDX-License-Identifier: Apache-2.0
// How are flags read from a command line and the environment? Every operand's parser uses these
// calls, so that bools, lists, mistakes and --help are the same everywhere.
#include "agent/flags.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"

namespace gantry::agent {
namespace {

// CLI11 supports one variable per option.
const char* FirstSet(FlagSet::Variables variables) {
  const auto* const set = std::ranges::find_if(
      variables, [](const char* variable) { return !EnvironmentOr(variable, "").empty(); });
  return set == variables.end() ? *variables.begin() : *set;
}

}  // namespace

FlagSet::FlagSet(const std::string& program, const std::string& description)
    : app_(description, program) {
  app_.set_version_flag("--version", GANTRY_VERSION);
}

CLI::Option* FlagSet::With(Variables variables, CLI::Option* option) {
  return variables.size() == 0 ? option : option->envname(FirstSet(variables));
}

CLI::Option* FlagSet::Custom(const std::string& names, Take take, Variables variables,
                             const std::string& help) {
  const std::string where =
      variables.size() == 0 ? names : format("{} ({})", names, FirstSet(variables));
  const auto read = [where, take = std::move(take)](const std::string& text) {
    if (const Status taken = take(text); !taken) {
      throw CLI::ValidationError(where, taken.error().message);
    }
  };
  return With(variables, app_.add_option_function<std::string>(names, read, help))->take_last();
}

CLI::Option* FlagSet::Bool(const std::string& names, std::function<void(bool)> take,
                           Variables variables, const std::string& help) {
  const auto read = [take = std::move(take)](const std::string& text) -> Status {
    TRY_ASSIGN(const bool value, ParseBool(text.empty() ? "true" : text));
    take(value);
    return {};
  };
  return Custom(names, read, variables, help)->expected(0, 1);
}

CLI::Option* FlagSet::Bool(const std::string& names, bool& into, Variables variables,
                           const std::string& help) {
  return Bool(names, [&into](bool value) { into = value; }, variables, help);
}

CLI::Option* FlagSet::Bool(const std::string& names, std::optional<bool>& into, Variables variables,
                           const std::string& help) {
  return Bool(names, [&into](bool value) { into = value; }, variables, help);
}

void FlagSet::UnusedBool(const std::string& names, Variables variables) {
  Bool(names, [](bool) {}, variables, "accepted, not used");
}

Result<bool> FlagSet::Parse(int argc, const char* const* argv) {
  try {
    ParseWords(app_, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app_.exit(error, std::cout, std::cerr);
      return false;
    }
    return Fail(ErrorKind::kInvalid, format("read the command line: {}", error.what()));
  }
  return true;
}

std::optional<int> ExitCodeOfWords(int argc, const char* const* argv, int count,
                                   const char* usage) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") {
    std::printf("%s\n", usage);
    return 0;
  }
  if (argc != count + 1) {
    std::fprintf(stderr, "%s\n", usage);
    return 2;
  }
  return std::nullopt;
}

}  // namespace gantry::agent
