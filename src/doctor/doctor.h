// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::doctor {

// Command doctor: prints problems of the cluster's GPUs, a line each. Exit code 0: none, 1: some,
// 2: the cluster could not be read, or only in part and without problems in that.
int RunDoctor(int argc, char** argv);

// Command status: a table of the GPU nodes and of the operands; with --watch until a signal ends
// it. Exit code 0, or 2.
int RunStatus(int argc, char** argv);

}  // namespace gantry::doctor
