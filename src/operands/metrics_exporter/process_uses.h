// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nvml/nvml.h"
#include "nvml/sample.h"
#include "operands/metrics_exporter/shares.h"

namespace gantry::metrics_exporter {

// What is known of a GPU's processes from the look before.
struct UsesBefore {
  Uses uses;
  uint64_t asked = 0;
};

// Where processes and pods of the node are found.
struct NodeProcesses {
  std::string root;                              // the folder that holds its proc/
  std::optional<std::set<std::string>> running;  // host::RunningPods
};

// What the pods use of a GPU, or of the MIG devices of one GPU instance, at least one. nullopt: the
// driver has no list of processes. May hang, as NVML may.
std::optional<Uses> ReadUses(const nvml::Library& library,
                             const std::vector<nvml::FoundDevice>& handles,
                             const NodeProcesses& node, UsesBefore& before);

// Whether this process sees the node's processes: without that NVML lists none of other containers.
bool SeesProcessesOfNode(const std::string& root);

}  // namespace gantry::metrics_exporter
