// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::mig_manager {

// `nvidia-mig-manager`: divides this node's GPUs by MIG as its Node asks. Returns the exit code.
int RunMigManager(int argc, char** argv);

}  // namespace gantry::mig_manager
