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
// if node feature discovery does not say which system it runs. RHEL with CRI-O is another system
// than RHEL without, because CRI-O brings the node's subscription into containers by itself.
std::string DriverSystemOf(const Labels& labels, std::string_view runtime);

// A DaemonSet of a ClusterPolicy's driver as it is in the cluster.
struct DriverSetThere {
  std::string name;
  std::string system;  // of its nodes, if it selects by names::kDriverSystem; else empty
  std::string image;   // of the driver's container
  Labels nodes;        // node selector
};
DriverSetThere DriverSetThereOf(const Json& daemon_set);

// One that takes nodes of every system, as earlier releases and NVIDIA's operator make them.
struct OpenDriverSet {
  std::string system;  // that its image is made for
  Labels nodes;        // node selector, without deploy labels
  // Whether it would take a node of another system than its own.
  [[nodiscard]] bool WouldTake(const Labels& labels) const;
  bool operator==(const OpenDriverSet&) const = default;
};

// What is asked for.
struct DriverAsk {
  const policy::Operand* operand = nullptr;
  std::string deploy;        // suffix of the deploy label
  std::string beside;        // of another one that the same nodes have
  std::string set;           // NVIDIA's name of the DaemonSet
  std::string field;         // of the policy, that names the image
  std::string image;         // without the system's suffix, unless the user gave one
  bool precompiled = false;  // the driver is made for one kernel
  bool toolkit = false;      // it is built with OpenShift's toolkit, for one version of RHCOS
};
DriverAsk DriverAskOf(const policy::ClusterPolicy& policy, bool toolkit);
DriverAsk HostDriverAskOf(const policy::ClusterPolicy& policy);

struct DriverDivision {
  DriverParts parts;
  std::vector<OpenDriverSet> open;    // of the DaemonSets that are there
  std::vector<std::string> left_out;  // why nodes get no driver, with their names and the cure
};

// Which DaemonSets the nodes with GPUs come to. One that is there keeps its name, and its selector
// as long as it takes no other nodes.
DriverDivision DivideDrivers(const DriverAsk& ask, const NamedNodes& nodes,
                             const std::vector<DriverSetThere>& there);

}  // namespace gantry::gpu_operator
