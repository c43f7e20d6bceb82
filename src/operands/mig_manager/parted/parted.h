// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::mig_parted {

// `nvidia-mig-parted`: divides the GPUs of this machine by MIG, or says how they are divided.
// Returns the exit code: 1 on any failure.
int RunMigParted(int argc, char** argv);

}  // namespace gantry::mig_parted
