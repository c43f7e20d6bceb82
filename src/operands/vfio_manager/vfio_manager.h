// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::vfio_manager {

// `vfio-manage`: binds this node's GPUs to their drivers for virtual machines, or gives them back.
// Returns the exit code: 0 only if every device is as asked.
int RunVfioManage(int argc, char** argv);

}  // namespace gantry::vfio_manager
