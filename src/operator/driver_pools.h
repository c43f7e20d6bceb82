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
  int labelled = 0;    // nodes that should have its pod
  int expected = 0;    // those of them without a taint against it
};

struct DriverPools {
  std::vector<DriverPool> pools;         // by system and kernel
  std::vector<std::string> silent;       // nodes without labels of their system
  std::vector<std::string> unmarked;     // nodes that it selects and that are not labelled yet
  std::vector<std::string> untolerated;  // nodes with a taint against it, as UntoleratedText
};

// Divides the driver's GPU nodes, by `owners` and by their label.
DriverPools SplitIntoPools(const std::string& name, const policy::DriverSelection& selection,
                           const policy::NvidiaDriver& driver, const DriverOwners& owners,
                           const NamedNodes& nodes);

}  // namespace gantry::gpu_operator
