// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gantry::gpu_operator {

// The nodes that a NVIDIADriver selects.
struct DriverClaim {
  std::string name;
  bool is_default = false;           // those that no other one selects
  bool every_node = false;           // all with GPUs: it has no selector
  std::set<std::string> nodes = {};  // that its selector takes
  bool known = true;                 // false: its selection is not known (yet)
  bool operator==(const DriverClaim&) const = default;
};

// The selections of all NVIDIADrivers; none while they don't count.
struct DriverOwners {
  std::vector<DriverClaim> claims;  // by name
  // The NVIDIADriver that a node with GPUs belongs to; empty: none. nullopt: unknown, or several
  // select it, and it keeps its present one.
  [[nodiscard]] std::optional<std::string> OwnerOf(const std::string& node) const;
  // Whether that one selects the node; the default one selects every node.
  [[nodiscard]] bool Asks(const std::string& name, const std::string& node) const;
  bool operator==(const DriverOwners&) const = default;
};

// Owners of which nothing is known: every node keeps its present one.
DriverOwners UnknownOwners();

// Why a NVIDIADriver does not get its nodes, with NVIDIA's reasons and messages.
struct DriverConflict {
  std::string reason;
  std::string message;
};
// By name; drivers without a conflict are absent. `gpu_nodes`: names, in order.
std::map<std::string, DriverConflict> FindConflicts(const DriverOwners& owners,
                                                    const std::vector<std::string>& gpu_nodes);

}  // namespace gantry::gpu_operator
