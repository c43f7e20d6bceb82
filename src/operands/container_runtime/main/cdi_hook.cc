// SPDX-License-Identifier: Apache-2.0
// nvidia-cdi-hook: what a container runtime runs in each container that gets a GPU.
#include <cstdio>
#include <string>
#include <vector>

#include "operands/container_runtime/hook_arguments.h"
#include "operands/container_runtime/hooks.h"

int main(int argc, char** argv) {
  constexpr char kName[] = "nvidia-cdi-hook";
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (gantry::container_runtime::AskForVersion(words)) {
    std::printf("%s version %s\n", kName, GANTRY_VERSION);
    return 0;
  }
  return gantry::container_runtime::RunCdiHook(kName, words);
}
