// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "operator/apply.h"
#include "operator/decide_cluster.h"
#include "operator/metrics.h"
#include "operator/node_labeller.h"
#include "operator/settings.h"
#include "operator/stalled.h"
#include "operator/status_writer.h"
#include "operator/takeover.h"
#include "operator/undescribed.h"
#include "operator/upgrade/actor.h"
#include "operator/view.h"

namespace gantry::gpu_operator {

// Brings the cluster to what the ClusterPolicy asks for, all of it but its nodes' labels: observes,
// decides with the pure functions of this folder, and acts.
class Reconciler {
 public:
  Reconciler(kube::Client& client, View& view, kube::EventRecorder& events,
             upgrade::Actor& upgrades, NodeLabeller& labeller, const Settings& settings,
             const Clock& clock = RealClock());

  // Blocks for its requests; one thread. Objects wait until the nodes were labelled by the rules of
  // the policy: a thousand nodes are labelled in seconds while the API server is idle, and in a
  // minute beside the pods that DaemonSets make on them.
  kube::Outcome Reconcile();

  // Thread-safe.
  [[nodiscard]] Metrics metrics() const;

 private:
  // What came of the policy that counts.
  struct Result {
    Json status;
    std::string partly;  // what of it is not followed
    Status applied;      // whether all could be written
  };
  // What a decision came to.
  struct Applied {
    Plan held;      // what waits for the nodes' labels
    Status status;  // whether the rest could be written
  };
  // The policies that count, and their statuses.
  Status ReconcilePolicies(const std::vector<Json>& policies, const std::vector<Json>& short_forms,
                           const std::vector<Json>& drivers);
  // `owners` are the policies in whose name it is done, the first answers for it; `asked` is what
  // they ask for as a ClusterPolicy. Without an owner nothing is done but for the NVIDIADrivers
  // (`drivers`, by name).
  Result ReconcilePolicy(const std::vector<Json>& owners, const policy::LaidOver& asked,
                         const std::vector<Json>& drivers);
  // For a policy that can't be read, because of this mistake.
  Result Reject(const Json& owner, const std::string& mistake);
  Applied Apply(const ClusterInput& input, const ClusterDecision& decision);
  // The first owner's status.
  Result Report(const ClusterInput& input, const ClusterDecision& decision, const Applied& applied);
  // Each one's status; `applied` says what is held and what could not be written.
  Status WriteDrivers(const std::vector<Json>& drivers, const DriverPlan& plan,
                      const ClusterFacts& cluster, const Applied& applied);
  Status LabelNamespace(const policy::ClusterPolicy& policy, const OpenShift& openshift);
  // Which nodes may still be described; they keep the policy from being ready.
  void NoteUndescribed(const std::vector<std::string>& names, bool ready);
  // What is to be said of the cluster's definitions.
  std::vector<std::string> OutdatedDefinitions();
  // Of DaemonSets' controllers, for what stalled.h finds.
  Status AskForPods();
  // Sooner, if something else is due before.
  void RequeueAfter(std::chrono::milliseconds delay);
  // Of a policy that counts, or a NVIDIADriver.
  Status WriteStatus(const kube::Kind& kind, const Json& object, const Json& status);
  // To all but the oldest of a kind.
  Status WriteIgnored(const kube::Kind& kind, const std::vector<Json>& policies);

  kube::Client& client_;
  View& view_;
  upgrade::Actor& upgrades_;
  NodeLabeller& labeller_;
  const Settings& settings_;
  const Clock& clock_;
  Applier applier_;
  StatusWriter statuses_;
  OperandCache operands_;
  ForeignNfd foreign_;
  Undescribed undescribed_;
  std::vector<std::string> outdated_;  // definitions, as logged last
  // State and reason of the last event; of NVIDIADrivers by uid.
  std::string recorded_;
  std::map<std::string, std::string> recorded_drivers_;
  // Until Reconcile has something to do again.
  std::optional<std::chrono::milliseconds> requeue_after_;
  Stalled stalled_;
  mutable std::mutex mutex_;
  Metrics metrics_;
};

}  // namespace gantry::gpu_operator
