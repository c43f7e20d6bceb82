// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::gpu_operator {

// Takes everything of the operator from the nodes and the cluster (command uninstall), within
// --timeout seconds. Returns the exit status: 0 also when nodes that did not answer were named.
int RunUninstall(int argc, char** argv);

}  // namespace gantry::gpu_operator
