// SPDX-License-Identifier: Apache-2.0
// Which options and values does a command line give?
#include "base/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace gantry {
namespace {

const CLI::Option* Find(const CLI::App& app, const std::string& flag) {
  const CLI::Option* found = app.get_option_no_throw(flag);
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    found = found != nullptr ? found : Find(*sub, flag);
  }
  return found;
}

// "-flag" as "--flag" if that is an option; one letter stays.
std::string Spelled(const CLI::App& app, std::string_view flag) {
  const bool single = flag.size() > 2 && flag[1] != '-';
  std::string twice = format("-{}", flag);
  return single && Find(app, twice) != nullptr ? twice : std::string(flag);
}

// "-w" as "--with-wait", the only form in which CLI11 takes a value for a switch.
std::string LongName(const CLI::Option& option, const std::string& flag) {
  const bool one_letter = !flag.starts_with("--") && !option.get_lnames().empty();
  return one_letter ? "--" + option.get_lnames().front() : flag;
}

// Without the program's own, last first, as CLI::App::parse takes them.
std::vector<std::string> WordsFor(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") {
      words.insert(words.end(), argv + i, argv + argc);
      break;
    }
    const size_t equals = word.find('=');
    const std::string flag = Spelled(app, word.substr(0, equals));
    const CLI::Option* option = word.starts_with('-') ? Find(app, flag) : nullptr;
    if (option == nullptr) {
      words.emplace_back(word);
      continue;
    }
    const bool needs_value = option->get_items_expected_min() > 0;
    if (equals == std::string_view::npos) {
      words.push_back(flag);
      if (needs_value && i + 1 < argc) {
        words.emplace_back(argv[++i]);  // whatever it looks like
      }
      continue;
    }
    const std::string_view value = word.substr(equals + 1);
    if (!needs_value) {
      words.push_back(format("{}={}", LongName(*option, flag), value));
    } else if (!value.empty() || option->get_items_expected_max() == 1) {
      words.push_back(flag);
      words.emplace_back(value);
    }
  }
  std::ranges::reverse(words);
  return words;
}

}  // namespace

void ParseWords(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(WordsFor(app, argc, argv));
  } catch (const CLI::RequiredError&) {
    if (const std::vector<std::string> unknown = app.remaining(true); !unknown.empty()) {
      throw CLI::ExtrasError(app.get_name(), unknown);
    }
    throw;
  }
}

std::optional<int> ParseOrExitCode(CLI::App& app, int argc, const char* const* argv) {
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

void AsList(CLI::Option* option) {
  option->delimiter(',')->transform(
      [](const std::string& value) { return std::string(Trim(value)); });
}

}  // namespace gantry
