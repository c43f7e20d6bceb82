// SPDX-License-Identifier: Apache-2.0
#pragma once

// `operator` is a keyword of C++, so this folder's namespace is gpu_operator.
namespace gantry::gpu_operator {

// The controller manager (command gpu-operator): runs until SIGTERM or until it loses its lease.
// Returns the exit status.
int RunOperator(int argc, char** argv);

}  // namespace gantry::gpu_operator
