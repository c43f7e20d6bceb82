// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::gpu_features {

// The command `gpu-feature-discovery`: labels this node with its GPUs, and keeps the labels up to
// date. Blocks until SIGTERM. Returns the exit code: 0, 1 after an error with --oneshot, 2 for
// wrong flags.
int RunGpuFeatureDiscovery(int argc, char** argv);

}  // namespace gantry::gpu_features
