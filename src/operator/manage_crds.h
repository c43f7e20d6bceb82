// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::gpu_operator {

// Brings custom resource definitions to a cluster (command manage-crds, of NVIDIA's name): creates
// what is missing and brings the rest up to date, as Helm does not. Returns the exit status: 0 once
// every kind is established; each file waits for that for --timeout seconds at most.
int RunManageCrds(int argc, char** argv);

}  // namespace gantry::gpu_operator
