// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "operator/cluster_facts.h"
#include "operator/system_facts.h"
#include "policy/cluster_policy.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

// The value of names::kDriverSystem for a node with these labels and that container runtime; empty
// if node feature discovery has not published its system. RHEL with CRI-O is another system than
// RHEL without, because CRI-O mounts the node's subscription into containers itself.
std::string DriverSystemOf(const Labels& labels, std::string_view runtime);

// An existing DaemonSet of a ClusterPolicy's driver.
struct DriverSetThere {
  std::string name;
  std::string system;  // of its nodes, if it selects by names::kDriverSystem; else empty
  std::string image;   // of the driver's container
  Labels nodes;        // node selector
};
DriverSetThere DriverSetThereOf(const Json& daemon_set);

// A DaemonSet that selects nodes of every system, as earlier releases and NVIDIA's operator make
// it.
struct OpenDriverSet {
  std::string system;  // of its image
  Labels nodes;        // node selector, without deploy labels
  // Whether it would select a node of another system than its own.
  [[nodiscard]] bool WouldTake(const Labels& labels) const;
  bool operator==(const OpenDriverSet&) const = default;
};

// The request for a driver.
struct DriverAsk {
  const policy::Operand* operand = nullptr;
  std::string deploy;        // suffix of the deploy label
  std::string beside;        // of another driver on the same nodes
  std::string set;           // NVIDIA's name of the DaemonSet
  std::string field;         // the policy's field with the image
  std::string image;         // without the system's suffix, unless the user gave one
  bool precompiled = false;  // the driver is made for one kernel
  bool toolkit = false;      // it is built with OpenShift's toolkit, for one version of RHCOS
};
DriverAsk DriverAskOf(const policy::ClusterPolicy& policy, bool toolkit);
DriverAsk HostDriverAskOf(const policy::ClusterPolicy& policy);

struct DriverDivision {
  DriverParts parts;
  std::vector<OpenDriverSet> open;    // of the existing DaemonSets
  std::vector<std::string> left_out;  // why nodes get no driver, with their names and the remedy
};

// Divides the GPU nodes into DaemonSets. An existing one keeps its name, and its selector as long
// as that matches no other nodes.
DriverDivision DivideDrivers(const DriverAsk& ask, const NamedNodes& nodes,
                             const std::vector<DriverSetThere>& there);

}  // namespace gantry::gpu_operator
