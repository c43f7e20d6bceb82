// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

inline constexpr char kTaintNotTolerated[] = "TaintNotTolerated";

// What keeps GPUs of nodes from being offered, one finding for each cause: of what follows from
// another, one of an operand's in `findings` too, only the other is told. Nodes without GPUs have
// none.
void ExamineNodes(const ClusterFacts& cluster, std::vector<Finding>& findings);

// What keeps the device plugin from a GPU node because somebody has said so: "label x=false",
// "devicePlugin.enabled=false of ClusterPolicy p"; empty: nothing.
std::string PluginOffBy(const ClusterFacts& cluster, const NodeFacts& node);

// Whether a policy that is acted on, if there is one, and the node's label ask for the device
// plugin there.
bool IsPluginAskedFor(const ClusterFacts& cluster, const NodeFacts& node);

// Whether its driver or its MIG layout is being changed: its GPUs come and go meanwhile.
bool IsChanging(const NodeFacts& node);

// Whether what was made then (RFC 3339) is too young to be judged: its images come first.
bool IsNew(const ClusterFacts& cluster, const std::string& made_at);

// Whether its driver is on its way to it in a container.
bool IsInstalling(const ClusterFacts& cluster, const NodeFacts& node);

// Whether pods on it may not be ready for a reason of the node's own, or not be yet.
bool IsUnsettled(const ClusterFacts& cluster, const NodeFacts& node);

// Whether the operator is not done with it, so that the policy can't be ready.
bool IsUnfinished(const ClusterFacts& cluster, const NodeFacts& node);

// Whether it may yet offer GPUs that it does not offer now.
bool MayOfferYet(const ClusterFacts& cluster, const NodeFacts& node);

// How far a GPU node is, in a word or two for a table: "ready", or the first thing that is missing
// of what the operator puts on that node.
std::string StageOf(const ClusterFacts& cluster, const NodeFacts& node);

// Whether the node has, or should have, GPUs.
bool HasGpu(const NodeFacts& node);

}  // namespace gantry::doctor
