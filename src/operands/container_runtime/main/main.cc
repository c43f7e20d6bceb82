// SPDX-License-Identifier: Apache-2.0
// Which of NVIDIA's toolkit programs runs? They are built twice: as gantry-runtime, for container
// starts, and as gantry-ctk, which also has the parts that the other lacks (by_ctk.cc). The
// program's own name selects; under another name the first argument does.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "base/paths.h"
#include "operands/container_runtime/hook_arguments.h"
#include "operands/container_runtime/hooks.h"
#include "operands/container_runtime/runtime.h"
#include "operands/container_runtime/toolkit_cli.h"

namespace {

using gantry::container_runtime::AskForVersion;
using gantry::container_runtime::RunCdiHook;
using gantry::container_runtime::RunContainerRuntime;
using gantry::container_runtime::RunLegacyHook;
using gantry::container_runtime::RuntimeVersion;
using gantry::container_runtime::RunToolkitCli;

struct Command {
  const char* name;
  int (*run)(const std::string& name, const std::vector<std::string>& words);
};

constexpr std::array kCommands = {
    Command{"nvidia-cdi-hook", RunCdiHook},
    Command{"nvidia-container-runtime", RunContainerRuntime},
    Command{"nvidia-container-runtime.cdi", RunContainerRuntime},
    Command{"nvidia-container-runtime.legacy", RunContainerRuntime},
    Command{"nvidia-container-runtime-hook", RunLegacyHook},
    Command{"nvidia-container-toolkit", RunLegacyHook},
    Command{"nvidia-ctk", RunToolkitCli},
};

const Command* Find(const std::string& name) {
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  return found == kCommands.end() ? nullptr : &*found;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (words.empty()) {
    return 1;
  }
  const Command* command = Find(gantry::BaseName(words.front()));
  words.erase(words.begin());
  if (command == nullptr && !words.empty()) {
    command = Find(words.front());
    if (command != nullptr) {
      words.erase(words.begin());
    }
  }
  const bool runtime = command != nullptr && command->run == RunContainerRuntime;
  if (AskForVersion(words)) {
    const char* name = command == nullptr ? "nvidia-container-toolkit" : command->name;
    if (!runtime) {
      std::printf("%s version %s\n", name, GANTRY_VERSION);
      return 0;
    }
    std::fputs(RuntimeVersion().c_str(), stdout);
    std::fflush(stdout);  // the low-level runtime adds its own
  }
  if (command == nullptr) {
    std::fprintf(stderr, "nvidia-container-toolkit: call it by one of these names:");
    for (const Command& known : kCommands) {
      std::fprintf(stderr, " %s", known.name);
    }
    std::fprintf(stderr, "\n");
    return 1;
  }
  return command->run(command->name, words);
}
