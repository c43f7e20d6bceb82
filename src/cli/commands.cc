// SPDX-License-Identifier: Apache-2.0
// The one table of commands. To add one, add its folder, its header here, and its line.
#include "cli/commands.h"

#include <array>

#include "operands/validator/validator.h"

namespace gantry::cli {
namespace {

constexpr std::array<Command, 1> kCommands = {{
    {"nvidia-validator", {}, "is this node's driver, toolkit, CUDA and device plugin whole?",
     validator::RunValidator},
}};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace gantry::cli
