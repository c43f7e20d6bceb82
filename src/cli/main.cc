// SPDX-License-Identifier: Apache-2.0
// Which command runs? The one named as the program's own file (in the image every command is a link
// to it), else the first argument.
#include <cstdio>
#include <exception>
#include <string_view>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "host/signals.h"

namespace gantry::cli {
namespace {

void Print(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

int Unknown(std::string_view word) {
  std::string text = format("gantry: no command '{}'", word);
  const std::vector<std::string_view> near = NearNames(Commands(), word);
  for (size_t i = 0; i < near.size(); ++i) {
    text += format("{}'{}'", i == 0 ? "; near: " : ", ", near[i]);
  }
  Print(stderr, text + "\n`gantry --help` lists them\n");
  return 2;
}

int Run(int argc, char** argv) {
  std::string_view own = argc > 0 ? argv[0] : "gantry";
  own = own.substr(own.rfind('/') + 1);
  if (const Command* command = FindCommand(Commands(), own)) {
    return command->run(argc, argv);
  }
  const std::string_view word = argc > 1 ? argv[1] : "--help";
  if (word == "--version") {
    Print(stdout, "gantry " GANTRY_VERSION "\n");
    return 0;
  }
  if (word == "--help" || word == "-h" || word == "help") {
    Print(stdout, HelpText(Commands()));
    return 0;
  }
  if (word == "--names") {
    Print(stdout, NamesText(Commands()));
    return 0;
  }
  const Command* command = FindCommand(Commands(), word);
  return command != nullptr ? command->run(argc - 1, argv + 1) : Unknown(word);
}

}  // namespace
}  // namespace gantry::cli

int main(int argc, char** argv) {
  gantry::host::KeepSignalsOfFirstProcess();
  try {
    return gantry::cli::Run(argc, argv);
  } catch (const std::exception& exception) {
    // Exceptions of libraries are caught at the call; only out of memory arrives here.
    gantry::log::Error("gantry: {}", exception.what());
    return 1;
  }
}
