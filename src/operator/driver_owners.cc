// SPDX-License-Identifier: Apache-2.0

// Which NVIDIADriver gives a node its driver? The one that selects it, else the default one. A node
// that leaves its driver's DaemonSet loses the driver under its workloads, so in doubt no node
// moves: if two select a node, or two are the default, or a selection is not known, the node keeps
// its present one. (NVIDIA's operator then moves no node at all.)

#include "operator/driver_owners.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::gpu_operator {
namespace {

bool Claims(const DriverClaim& claim, const std::string& node) {
  return !claim.is_default && (claim.every_node || claim.nodes.contains(node));
}

std::vector<std::string> AllThatAsk(const DriverOwners& owners, const std::string& node) {
  std::vector<std::string> names;
  for (const DriverClaim& claim : owners.claims) {
    if (Claims(claim, node)) {
      names.push_back(claim.name);
    }
  }
  return names;
}

std::vector<std::string> Defaults(const DriverOwners& owners) {
  std::vector<std::string> names;
  for (const DriverClaim& claim : owners.claims) {
    if (claim.is_default) {
      names.push_back(claim.name);
    }
  }
  return names;
}

}  // namespace

std::optional<std::string> DriverOwners::OwnerOf(const std::string& node) const {
  for (const DriverClaim& claim : claims) {
    if (!claim.known) {
      return std::nullopt;
    }
  }
  for (const std::vector<std::string>& names : {AllThatAsk(*this, node), Defaults(*this)}) {
    if (!names.empty()) {
      return names.size() == 1 ? std::optional(names.front()) : std::nullopt;
    }
  }
  return "";
}

DriverOwners UnknownOwners() { return {{{.name = "", .known = false}}}; }

bool DriverOwners::Asks(const std::string& name, const std::string& node) const {
  return std::ranges::any_of(claims, [&](const DriverClaim& claim) {
    return claim.name == name && (claim.is_default || Claims(claim, node));
  });
}

std::map<std::string, DriverConflict> FindConflicts(const DriverOwners& owners,
                                                    const std::vector<std::string>& gpu_nodes) {
  std::map<std::string, DriverConflict> conflicts;
  if (const std::vector<std::string> names = Defaults(owners); names.size() > 1) {
    for (const std::string& name : names) {
      conflicts[name] = {
          "ReconcileFailed",
          format("multiple default NVIDIADrivers found: [{}]; set spec.default to false in all but "
                 "one",
                 Join(names, " "))};
    }
  }
  for (const std::string& node : gpu_nodes) {
    const std::vector<std::string> names = AllThatAsk(owners, node);
    if (names.size() < 2) {
      continue;
    }
    for (const std::string& name : names) {
      conflicts.try_emplace(
          name,
          DriverConflict{"ConflictingNodeSelector",
                         format("multiple NVIDIADrivers match the same node {}: [{}]; it stays "
                                "with the one it has until their nodeSelectors differ",
                                node, Join(names, " "))});
    }
  }
  return conflicts;
}

}  // namespace gantry::gpu_operator
