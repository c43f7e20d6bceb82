// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::doctor {

// Command doctor: what is wrong with the cluster's GPUs, a line each. Exit code 0: nothing, 1:
// something, 2: the cluster could not be read, or not all of it, and nothing was found in the rest.
int RunDoctor(int argc, char** argv);

// Command status: a table of the GPU nodes and of the operands; with --watch until a signal ends
// it. Exit code 0, or 2.
int RunStatus(int argc, char** argv);

}  // namespace gantry::doctor
