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
#include "operator/mig_drainer.h"
#include "operator/node_labeller.h"
#include "operator/settings.h"
#include "operator/stalled.h"
#include "operator/status_writer.h"
#include "operator/takeover.h"
#include "operator/undescribed.h"
#include "operator/upgrade/actor.h"
#include "operator/view.h"

namespace gantry::gpu_operator {

// Brings the cluster to the desired state of the ClusterPolicy or GPUCluster, except the nodes'
// labels: observes, decides with the pure functions of this folder, and acts.
class Reconciler {
 public:
  Reconciler(kube::Client& client, View& view, kube::EventRecorder& events,
             upgrade::Actor& upgrades, MigDrainer& drainer, NodeLabeller& labeller,
             const Settings& settings, const Clock& clock = RealClock());

  // Blocks for its requests; one thread. Objects wait until the nodes are labelled by the policy's
  // rules: a thousand nodes are labelled in seconds while the API server is idle, but take a minute
  // while DaemonSets create pods on them.
  kube::Outcome Reconcile();

  // Thread-safe.
  [[nodiscard]] Metrics metrics() const;

 private:
  // The result for the policy that counts.
  struct Result {
    Json status;
    std::string partly;  // its fields without effect
    Status applied;      // whether all could be written
  };
  // The result of applying a decision.
  struct Applied {
    Plan held;      // objects that wait for the nodes' labels
    Status status;  // whether the rest could be written
  };
  // The policies that count, and their statuses.
  Status ReconcilePolicies(const std::vector<Json>& policies, const std::vector<Json>& short_forms,
                           const std::vector<Json>& drivers);
  // `owners` are the policies that own the objects; the first gets the status. `asked` is their
  // request as a ClusterPolicy. Without an owner only the NVIDIADrivers (`drivers`, by name) count.
  Result ReconcilePolicy(const std::vector<Json>& owners, const policy::LaidOver& asked,
                         const std::vector<Json>& drivers);
  // The GPUCluster that counts, and its status.
  Status ReconcileGpuCluster(const Json& gpu_cluster, const std::vector<Json>& drivers);
  // The statuses of a GPUCluster and a policy that exist both.
  Status RejectBoth(const std::vector<Json>& policies, const std::vector<Json>& short_forms,
                    const Json& gpu_cluster);
  // Removes the finalizer of NVIDIA's operator from a GPUCluster that is being deleted.
  Status ReleaseDeleted(const Json& gpu_cluster);
  // For a policy of which nothing is made. `recorded` as in StatusWriter::RecordEvent.
  Result Reject(const Json& owner, const Verdict& verdict, std::string& recorded);
  Applied Apply(const ClusterInput& input, const ClusterDecision& decision);
  // The first owner's status.
  Result Report(const ClusterInput& input, const ClusterDecision& decision, const Applied& applied);
  // The status of each; `applied` has what is held and what could not be written.
  Status WriteDrivers(const std::vector<Json>& drivers, const DriverPlan& plan,
                      const ClusterFacts& cluster, const Applied& applied);
  Status LabelNamespace(const policy::ClusterPolicy& policy, const OpenShift& openshift);
  // The nodes that may still be described; they keep the policy from being ready.
  void NoteUndescribed(const std::vector<std::string>& names, bool ready);
  // Messages about the cluster's CRDs.
  std::vector<std::string> OutdatedDefinitions();
  // Touches DaemonSets whose controllers stalled (stalled.h).
  Status AskForPods();
  // Earlier, if something else is due before.
  void RequeueAfter(std::chrono::milliseconds delay);
  // For a policy that counts, or a NVIDIADriver.
  Status WriteStatus(const kube::Kind& kind, const Json& object, const Json& status);
  // Writes the status of all but the oldest of a kind.
  Status WriteIgnored(const kube::Kind& kind, const std::vector<Json>& policies);

  kube::Client& client_;
  View& view_;
  upgrade::Actor& upgrades_;
  MigDrainer& drainer_;
  NodeLabeller& labeller_;
  const Settings& settings_;
  const Clock& clock_;
  Applier applier_;
  StatusWriter statuses_;
  OperandCache operands_;
  ForeignNfd foreign_;
  Undescribed undescribed_;
  std::vector<std::string> outdated_;  // CRDs, as last logged
  // State and reason of the last event; for NVIDIADrivers by uid.
  std::string recorded_;
  std::string recorded_beside_;  // of a GPUCluster beside a policy
  std::map<std::string, std::string> recorded_drivers_;
  // Until Reconcile has something to do again.
  std::optional<std::chrono::milliseconds> requeue_after_;
  Stalled stalled_;
  mutable std::mutex mutex_;
  Metrics metrics_;
};

}  // namespace gantry::gpu_operator
