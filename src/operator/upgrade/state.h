// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/node_facts.h"
#include "operator/upgrade/annotations.h"
#include "operator/upgrade/pod_facts.h"
#include "operator/upgrade/pod_removal.h"
#include "policy/upgrade_policy.h"

namespace gantry::gpu_operator::upgrade {

// The driver's pod on a node.
struct DriverPod {
  kube::Key key;
  PodFacts facts;
  // Whether the DaemonSet's controller has reconciled its current template; without that,
  // `outdated` is unknown.
  bool judged = false;
  bool outdated = false;     // of an older template, or of no DaemonSet
  bool same_driver = false;  // its restart leaves the driver loaded
};

// Everything that decides a node's next step.
struct NodeInput {
  std::string name;
  std::string owner;  // its NVIDIADriver; empty: none
  State state = State::kUnknown;
  bool skip = false;   // its upgrades are disabled
  bool wanted = true;  // it should have a driver's pod
  bool ready = true;
  bool cordoned = false;
  // Since when this process handles the node in its state, which begins with the first complete
  // observation.
  WallTime seen_since{};
  Labels marks;  // annotations about the upgrade
  std::optional<DriverPod> driver;
  // Pods on the node that this state needs (PodsFor); nullopt: not seen yet, `unseen` says why.
  std::optional<std::vector<NamedPod>> pods;
  std::string unseen = "its pods were not seen yet";
  bool refused = false;  // permanently: the API server rejects the list, `unseen` says why
  // The validator's reason, perhaps with its message; empty: none.
  std::string broken;
  std::optional<Eviction> eviction;
};

// The next changes for one node. At most one state forward.
struct Change {
  std::string node;
  State from = State::kUnknown;
  State to = State::kUnknown;
  std::string reason;
  std::map<std::string, std::optional<std::string>> annotations;  // nullopt: is removed
  enum class Cordon { kLeave, kCordon, kUncordon } cordon = Cordon::kLeave;
  std::vector<PodRef> evict;
  std::optional<PodRef> restart;  // the driver's pod, to be deleted
  // Whether the Node must be written.
  [[nodiscard]] bool marks_node() const {
    return from != to || !annotations.empty() || cordon != Cordon::kLeave;
  }
  [[nodiscard]] bool empty() const {
    return !marks_node() && evict.empty() && !restart.has_value();
  }
};

// The entry on a node in the ClusterPolicy's status.
struct NodeStatus {
  std::string name;
  State state = State::kUnknown;
  std::optional<WallTime> since;
  std::string reason;                // why it is still in this state
  std::string next;                  // the next step
  std::optional<WallTime> deadline;  // when the step ends or fails automatically
};

struct Step {
  Change change;
  NodeStatus status;
  bool waits_for_turn = false;         // could start: Start
  std::optional<WallTime> requeue_at;  // when time alone changes the decision
};

// One node's next step, from its facts.
Step Advance(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now);
// The change that starts a node waiting for its turn.
Change Start(const NodeInput& node, WallTime now);
// The change that removes every trace of an upgrade from a node, in any state; empty if there is
// none.
Change Abandon(const NodeInput& node);

// The merge patch of the Node.
Json PatchOf(const Change& change);

// The pods that the node's state needs; nullopt: none. `ns` is the operator's namespace.
std::optional<PodQuery> PodsFor(const NodeInput& node, const policy::UpgradePolicy& policy,
                                const std::string& ns);

// The validator's pods, of all nodes.
PodQuery ValidatorPods(const std::string& ns);

// Whether it must be uncordoned when its upgrade ends.
bool CordonedByUs(const NodeInput& node);

// The limit for the validator (NVIDIA's), and for a new driver's pod to become ready.
inline constexpr std::chrono::seconds kValidationLimit(600);
inline constexpr std::chrono::seconds kRestartLimit(3600);

}  // namespace gantry::gpu_operator::upgrade
