// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::gpu_operator {

// Brings custom resource definitions to a cluster, or takes them away (command manage-crds, of
// NVIDIA's name). `apply` creates what is missing and brings the rest up to date, as Helm does not;
// each waits for its kind to be established for --timeout seconds at most. `delete` takes those
// that are there. Returns the exit status: 0 once all of it is done.
int RunManageCrds(int argc, char** argv);

}  // namespace gantry::gpu_operator
