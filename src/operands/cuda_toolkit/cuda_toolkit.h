// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::cuda_toolkit {

// Offers the CUDA that gantry-cuda copied to this node, until SIGTERM. argv[0] is the command's
// name; the exit status.
int RunCudaToolkit(int argc, char** argv);

}  // namespace gantry::cuda_toolkit
