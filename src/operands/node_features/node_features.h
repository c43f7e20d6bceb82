// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::node_features {

// The command `nfd-worker`: labels this node, and keeps the labels up to date. Blocks until
// SIGTERM. Returns the exit code: 0, 1 after an error with --oneshot, 2 for
// wrong flags.
int RunNodeFeatures(int argc, char** argv);

}  // namespace gantry::node_features
