// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::gpu_operator {

// Removes everything of the operator from the nodes and the cluster (command uninstall), within
// --timeout seconds. Returns the exit status: 0 also if it reported nodes that did not respond.
int RunUninstall(int argc, char** argv);

}  // namespace gantry::gpu_operator
