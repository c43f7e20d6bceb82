// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gantry::gpu_operator {

// Which nodes a NVIDIADriver asks for.
struct DriverClaim {
  std::string name;
  bool is_default = false;           // those that no other one asks for
  bool every_node = false;           // all with GPUs: it has no selector
  std::set<std::string> nodes = {};  // that its selector takes
  bool known = true;                 // false: nobody can say (yet) what it asks for
  bool operator==(const DriverClaim&) const = default;
};

// What all NVIDIADrivers ask for; none while they don't count.
struct DriverOwners {
  std::vector<DriverClaim> claims;  // by name
  // The NVIDIADriver that a node with GPUs belongs to; empty: none. nullopt: that can't be said, or
  // several ask for it, and it stays with the one it has.
  [[nodiscard]] std::optional<std::string> OwnerOf(const std::string& node) const;
  // Whether that one asks for the node; the default one asks for every node.
  [[nodiscard]] bool Asks(const std::string& name, const std::string& node) const;
  bool operator==(const DriverOwners&) const = default;
};

// Those of whom nothing is known: every node stays with the one it has.
DriverOwners UnknownOwners();

// Why a NVIDIADriver does not get what it asks for, under NVIDIA's reasons and in its words.
struct DriverConflict {
  std::string reason;
  std::string message;
};
// By name; those that are not there have none. `gpu_nodes`: names, in order.
std::map<std::string, DriverConflict> FindConflicts(const DriverOwners& owners,
                                                    const std::vector<std::string>& gpu_nodes);

}  // namespace gantry::gpu_operator
