// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::gpu_operator {

// Installs or deletes custom resource definitions (command manage-crds, NVIDIA's name). `apply`
// creates missing ones and updates the rest, which Helm does not; for each it waits at most
// --timeout seconds until its kind is established. `delete` deletes existing ones. Returns the exit
// status: 0 once all of it is done.
int RunManageCrds(int argc, char** argv);

}  // namespace gantry::gpu_operator
