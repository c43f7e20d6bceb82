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
#include "policy/upgrade_policy.h"

namespace gantry::gpu_operator::upgrade {

// The driver's pod on a node.
struct DriverPod {
  kube::Key key;
  PodFacts facts;
  // Whether the DaemonSet's controller has looked at its current template; without that, nothing
  // is said about the pod's age.
  bool judged = false;
  bool outdated = false;     // of an older template, or of no DaemonSet
  bool same_driver = false;  // its restart leaves the driver loaded
};

// What was tried to empty the node, since this process started.
struct Eviction {
  WallTime at{};
  std::string refused;  // the last refusal; empty: none
};

// All that decides a node's next step.
struct NodeInput {
  std::string name;
  std::string owner;  // the NVIDIADriver that it belongs to; empty: none
  State state = State::kUnknown;
  bool skip = false;   // somebody has switched its upgrades off
  bool wanted = true;  // it is to have a driver's pod
  bool ready = true;
  bool cordoned = false;
  // Since when this process looks after the node in its state; what it cannot look at yet, it does
  // not look after.
  WallTime seen_since{};
  Labels marks;  // annotations about the upgrade
  std::optional<DriverPod> driver;
  // Pods that this state asks for (PodsFor) on the node; nullopt: not seen yet, `unseen` says why.
  std::optional<std::vector<NamedPod>> pods;
  std::string unseen = "its pods were not seen yet";
  bool refused = false;  // nor will they be: the API server does not list them, `unseen` says why
  // What the validator found, in a word, perhaps with a sentence; empty: nothing.
  std::string broken;
  std::optional<Eviction> eviction;
};

// One pod, and no other of its name.
struct PodRef {
  kube::Key key;
  std::string uid;
};

// What is to be done about one node. At most one state forward.
struct Change {
  std::string node;
  State from = State::kUnknown;
  State to = State::kUnknown;
  std::string reason;
  std::map<std::string, std::optional<std::string>> annotations;  // nullopt: goes
  enum class Cordon { kLeave, kCordon, kUncordon } cordon = Cordon::kLeave;
  std::vector<PodRef> evict;
  std::optional<PodRef> restart;  // the driver's pod, to be deleted
  // Whether the Node is to be written.
  [[nodiscard]] bool marks_node() const {
    return from != to || !annotations.empty() || cordon != Cordon::kLeave;
  }
  [[nodiscard]] bool empty() const {
    return !marks_node() && evict.empty() && !restart.has_value();
  }
};

// What the ClusterPolicy's status says about a node.
struct NodeStatus {
  std::string name;
  State state = State::kUnknown;
  std::optional<WallTime> since;
  std::string reason;                // why it is not further
  std::string next;                  // what comes then
  std::optional<WallTime> deadline;  // when it goes on, or fails, by itself
};

struct Step {
  Change change;
  NodeStatus status;
  bool waits_for_turn = false;         // could start: Start
  std::optional<WallTime> requeue_at;  // when time alone changes something
};

// One node's next step, given what is known of it.
Step Advance(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now);
// The change with which a node that waits for its turn starts.
Change Start(const NodeInput& node, WallTime now);
// The change that leaves nothing of an upgrade on a node, wherever it was; empty if nothing is.
Change Abandon(const NodeInput& node);

// The merge patch of the Node.
Json PatchOf(const Change& change);

// Which pods the node's state asks for; nullopt: none. `ns` is the operator's namespace.
std::optional<PodQuery> PodsFor(const NodeInput& node, const policy::UpgradePolicy& policy,
                                const std::string& ns);

// The validator's pods, of all nodes.
PodQuery ValidatorPods(const std::string& ns);

// Whether it is to be uncordoned when its upgrade ends.
bool CordonedByUs(const NodeInput& node);

// An eviction that was refused is tried again after that time.
inline constexpr std::chrono::seconds kEvictAgain(5);
// How long the validator may take (NVIDIA's), and a new driver's pod until it is ready.
inline constexpr std::chrono::seconds kValidationLimit(600);
inline constexpr std::chrono::seconds kRestartLimit(3600);
// How long this process acts before a deadline ends anything (the whole limit if that is shorter):
// it may have passed while no operator was here, or none looked at the node.
inline constexpr std::chrono::seconds kLeastTime(60);

}  // namespace gantry::gpu_operator::upgrade
