// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "container/cdi_hooks.h"
#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {

// The folder of the running program.
std::string OwnFolder();

// The program that a document names as its hook: nvidia-cdi-hook beside the running one, else in
// $PATH, else /usr/bin/nvidia-cdi-hook, even if it does not exist.
container::HookProgram FindHookProgram();

// The program at a path, and whether it is Gantry's.
container::HookProgram HookProgramAt(const std::string& path);

// $NVIDIA_CTK_CONFIG_FILE_PATH, even if that file does not exist; else the first existing
// config.toml, in NVIDIA's order: the one installed beside the program, $XDG_CONFIG_HOME, /etc.
// Empty: none.
std::string FindConfigFile();

// Where `nvidia-ctk config --in-place` makes one if there is none.
std::string DefaultConfigFile();

// The content of that file; the defaults if it does not exist.
Result<RuntimeConfig> LoadConfig();

}  // namespace gantry::container_runtime
