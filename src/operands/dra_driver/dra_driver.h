// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::dra_driver {

// The command gpu-kubelet-plugin: serves the driver gpu.nvidia.com to this node's kubelet. Blocks
// until SIGTERM; returns the exit status.
int RunDraDriver(int argc, char** argv);

}  // namespace gantry::dra_driver
