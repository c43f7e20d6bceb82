// SPDX-License-Identifier: Apache-2.0
// The one table of commands. To add one, add its folder, its header here, and its line.
#include "cli/commands.h"

#include <array>

#include "operands/validator/validator.h"
#include "operator/doctor/doctor.h"

namespace gantry::cli {
namespace {

constexpr std::array<Command, 3> kCommands = {{
    {"doctor",
     {},
     "what is wrong with a cluster's GPUs, and what to do about it",
     doctor::RunDoctor},
    {"status", {}, "a cluster's GPU nodes and operands at a glance", doctor::RunStatus},
    {"nvidia-validator",
     {},
     "is this node's driver, toolkit, CUDA and device plugin whole?",
     validator::RunValidator},
}};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace gantry::cli
