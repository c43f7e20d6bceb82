// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/cluster_facts.h"
#include "operator/driver_owners.h"
#include "policy/nvidia_driver.h"

namespace gantry::gpu_operator {

// Nodes of one NVIDIADriver that run the same image: one DaemonSet.
struct DriverPool {
  SystemFacts system;  // with the one kernel of a precompiled driver
  Json nodes;          // node selector
  int labelled = 0;    // nodes that are to have its pod
  int expected = 0;    // those of them that no taint keeps it off
};

struct DriverPools {
  std::vector<DriverPool> pools;      // by system and kernel
  std::vector<std::string> silent;    // nodes that don't say which system they run
  std::vector<std::string> unmarked;  // nodes that it asks for and that have no driver's label yet
  std::vector<std::string> untolerated;  // nodes that a taint keeps it off, as UntoleratedText
};

// Of the nodes with GPUs that are the driver's, by `owners` and by their label.
DriverPools SplitIntoPools(const std::string& name, const policy::DriverSelection& selection,
                           const policy::NvidiaDriver& driver, const DriverOwners& owners,
                           const NamedNodes& nodes);

}  // namespace gantry::gpu_operator
