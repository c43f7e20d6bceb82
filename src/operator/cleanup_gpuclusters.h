// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::gpu_operator {

// Deletes a GPUCluster and waits until it is gone (command cleanup-gpuclusters, of NVIDIA's name).
// This release makes none: it is for one that NVIDIA's operator has left. Returns the exit status:
// 0 once it is gone, or if there is none or no such kind; 1 if it still exists after five minutes.
int RunCleanupGpuClusters(int argc, char** argv);

}  // namespace gantry::gpu_operator
