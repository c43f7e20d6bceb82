// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "operator/apply.h"
#include "operator/driver_division.h"
#include "operator/view.h"

namespace gantry::gpu_operator {

// A policy's drivers, by the nodes that they are for.
struct DriversByNode {
  DriverDivision own;
  DriverDivision host;     // of virtual GPUs
  bool any_there = false;  // DaemonSets of either are there
};

// From the DaemonSets that the view shows in the operator's namespace. `toolkit`: drivers are built
// with OpenShift's.
DriversByNode LookAtDrivers(const View& view, const Applier& applier, const std::string& space,
                            const policy::ClusterPolicy& policy, bool toolkit,
                            const NamedNodes& nodes);

// The container runtime that the toolkit's DaemonSet is set up for; empty: there is none.
std::string RuntimeThere(const Applier& applier, const std::string& space);

}  // namespace gantry::gpu_operator
