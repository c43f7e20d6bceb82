// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "doctor/facts.h"

namespace gantry::doctor {

// The state of the driver's upgrade, from the upgrade library's label.
enum class Upgrade { kNone, kPending, kInProgress, kFailed };

// The stage of a node. Computed once for each node, and read by all findings.
struct NodeStage {
  bool has_gpu = false;       // or should have one
  bool is_new = false;        // it has just joined
  bool mig_changing = false;  // its MIG layout is being changed
  Upgrade upgrade = Upgrade::kNone;
  const OperandFacts* driver = nullptr;  // installs its driver; nullptr: none. Not owned
  bool taken_in = false;                 // the operator has set its deploy labels
  bool for_machines = false;             // its GPUs are for virtual machines: containers get none
  // Wanted by a reconciled policy, if there is one, and by the node's label.
  bool plugin_wanted = false;
  bool labels_wanted = false;
  bool verdict_wanted = false;  // the validator's label. An unreadable validator counts as Gantry's
  bool awaits_verdict = false;  // that label is not set yet
  // The validator's reason, "ready", or empty. A lack of allocatable GPUs is "ready" if no device
  // plugin is wanted.
  std::string verdict;
  // The reason (policy/reasons.h) why it offers no GPU: the validator's or, without one, derived
  // from its labels; empty: none.
  std::string lacks;
  bool installing = false;      // its driver container still has time to install the driver
  std::string pause;            // the value that pauses its device plugin; empty: none
  bool pause_left = false;      // and no change is in progress
  std::string plugin_off_by;    // the label or field that disables its device plugin; empty: none
  bool gpus_unhealthy = false;  // fewer GPUs are allocatable than it has
  bool unsettled = false;       // its pods may be unready for a reason of the node's
  bool unfinished = false;      // the operator has not finished with it: no policy can be ready
  bool may_offer = false;       // it may soon offer GPUs that it does not offer now

  // Its driver or its MIG layout is being changed: its GPUs may be missing meanwhile.
  [[nodiscard]] bool changing() const { return mig_changing || upgrade == Upgrade::kInProgress; }
};

// A cluster's facts, which must outlive it, and the stage of each of its nodes.
class StagedCluster {
 public:
  explicit StagedCluster(const ClusterFacts& cluster);
  // The stage of a node of `facts`.
  [[nodiscard]] const NodeStage& Of(const NodeFacts& node) const;

  const ClusterFacts& facts;

 private:
  std::map<std::string, NodeStage> stages_;
};

// The stage of a GPU node, in a word or two for a table: "ready", or the first missing part of what
// the operator deploys on that node.
std::string StageName(const NodeFacts& node, const NodeStage& stage);

// Whether the node has, or should have, GPUs.
bool HasGpu(const NodeFacts& node);
// Whether an object created then (RFC 3339) is too young to be judged: images are pulled first.
bool IsNew(const ClusterFacts& cluster, const std::string& made_at);
// Whether the label was written longer ago than that; false if the time is not known.
bool WrittenBefore(const ClusterFacts& cluster, const NodeFacts& node, const char* label,
                   std::chrono::minutes limit);
// Whether the label was written within that time; false if the time is not known.
bool WrittenWithin(const ClusterFacts& cluster, const NodeFacts& node, const char* label,
                   std::chrono::minutes limit);
// Whether no GPU is allocatable, and no condition says that one is out of service.
bool OffersNothing(const NodeFacts& node);
// The files of NVIDIA's driver container exist after it has loaded its modules: until then the
// driver is missing, which gets no finding of its own.
bool IsAboutDriversFiles(std::string_view word);

// An upgrade of a node waits for its turn and for jobs; the library abandons a drain after 5 min.
inline constexpr std::chrono::minutes kUpgradePatience(60);

}  // namespace gantry::doctor
