// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "operator/node_facts.h"
#include "operator/upgrade/pod_removal.h"
#include "policy/mig_holders.h"

// Pods and processes that hold GPUs whose MIG layout is to change. All of it pure.
namespace gantry::gpu_operator {

// How the holders of a node's GPUs are handled.
struct HoldersRule {
  policy::GpuHoldersSpec spec;
  std::string mistake;  // of the node's annotation, which does not count then; empty: none
};
HoldersRule HoldersRuleOf(const NodeFacts& node, const policy::GpuHoldersSpec& of_policy);

// The holders that the node's MIG manager has published (FeatureFacts::mig_holders), if they hold
// up the layout that the node's label asks for now.
std::optional<policy::MigHolders> HoldersOf(const NodeFacts& node, std::string_view published);

// The node's nvidia.com/mig.config.state while it has holders: `failed`, or `pending` if the change
// waits for them, also before that is written on the Node.
std::string_view StateWithHolders(const NodeFacts& node, const policy::MigHolders& holders,
                                  const policy::GpuHoldersSpec& of_policy);

// Everything that decides about the holders of one node.
struct HeldNode {
  policy::MigHolders holders;
  HoldersRule rule;
  std::optional<policy::MigHoldersStep> before;  // as written on the Node
  // Those of the holders that exist and run on the node; others are only named.
  std::vector<upgrade::NamedPod> pods;
  // Since when this process handles them.
  WallTime seen_since{};
  std::optional<upgrade::Eviction> eviction;
};

struct HoldersDecision {
  policy::MigHoldersStep step;  // to be written on the Node if it differs
  std::vector<upgrade::PodRef> remove;
  std::optional<WallTime> requeue_at;  // when time alone changes the decision
};
HoldersDecision DecideHolders(const HeldNode& node, WallTime now);

// Whether the decision needs the pods of the holders: they are evicted or deleted.
bool NeedsPods(const HoldersRule& rule);

// The Node for a server-side apply of the condition names::kMigHeldCondition.
Json HeldCondition(const std::string& node, const policy::MigHoldersStep& step);

}  // namespace gantry::gpu_operator
