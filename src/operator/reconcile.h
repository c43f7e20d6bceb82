// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "operator/apply.h"
#include "operator/desired/operands.h"
#include "operator/driver_plan.h"
#include "operator/gone_nodes.h"
#include "operator/metrics.h"
#include "operator/node_labels.h"
#include "operator/policy_status.h"
#include "operator/rule_failures.h"
#include "operator/rule_set.h"
#include "operator/settings.h"
#include "operator/stalled.h"
#include "operator/startup_taint.h"
#include "operator/takeover.h"
#include "operator/undescribed.h"
#include "operator/upgrade/actor.h"
#include "operator/verdict.h"
#include "operator/view.h"
#include "policy/gpu_cluster_policy.h"

namespace gantry::gpu_operator {

// Brings the cluster to what the ClusterPolicy asks for: one object that acts, on what the pure
// functions of this folder decide. Thread-safe.
class Reconciler {
 public:
  // `relabel` is called with every node whose labels may change because the policy did, `labelled`
  // when Node has been called for all of them.
  Reconciler(kube::Client& client, View& view, kube::EventRecorder& events,
             upgrade::Actor& upgrades, Settings settings,
             std::function<void(const std::string& node)> relabel, std::function<void()> labelled,
             const Clock& clock = RealClock());

  // All of the cluster but its nodes' labels. Objects wait until the nodes were labelled by the
  // rules of the policy: a thousand nodes are labelled in seconds while the API server is idle, and
  // in a minute beside the pods that DaemonSets make on them.
  kube::Outcome Cluster();
  // The labels of one node.
  kube::Outcome Node(const std::string& name);

  [[nodiscard]] Metrics metrics() const;

 private:
  // What came of the policy that counts.
  struct Followed {
    Json status;
    std::string partly;  // what of it is not followed
    Status carried;      // whether all could be written
  };
  // `owners` are the policies in whose name it is done, the first answers for it; `asked` is what
  // they ask for as a ClusterPolicy. Without an owner nothing is done but for the NVIDIADrivers
  // (`drivers`, by name).
  Followed Follow(const std::vector<Json>& owners, const policy::LaidOver& asked,
                  const std::vector<Json>& drivers);
  // As made last, while what they are made from is the same; none without an owner.
  const std::vector<DesiredOperand>& OperandsFor(const Context& context, bool node_features);
  // To each of them, what came of it; `held` is what waits for the nodes' labels.
  Status WriteDrivers(const std::vector<Json>& drivers, const DriverPlan& plan,
                      const ClusterFacts& cluster, const std::string& write_error,
                      const Plan& held);
  Status LabelNamespace(const policy::ClusterPolicy& policy, const OpenShift& openshift);
  // Which nodes may still be described; they keep the policy from being ready.
  void LookAtUndescribed(const std::vector<std::string>& names, bool ready);
  // What is to be said of the cluster's definitions.
  std::vector<std::string> LookAtDefinitions();
  // Of DaemonSets' controllers, for what stalled.h finds.
  Status AskForPods();
  // Sooner, if something else is due before.
  void RequeueAfter(std::chrono::milliseconds delay);
  Status WriteStatus(const kube::Kind& kind, const Json& object, const Json& status);
  // Of a policy that counts: messages alone are written in groups.
  Status WriteFollowed(const kube::Kind& kind, const Json& object, const Json& status);
  // To all but the oldest of a kind.
  Status WriteIgnored(const kube::Kind& kind, const std::vector<Json>& policies);
  void RecordEvent(const Json& object, const Verdict& verdict, std::string& announced);
  // Whether every node has been labelled by these, or was tried.
  bool SetRules(const LabelRules& rules, const DriverOwners& owners);
  kube::Outcome Label(const std::string& name);
  void TellFailures(const std::string& node, const std::vector<nfd::RuleMistake>& mistakes);
  Status WriteNode(const std::string& name, const NodeChange& change, const TaintChange& taint);
  kube::Outcome CollectGarbage(const std::string& node);

  kube::Client& client_;
  View& view_;
  kube::EventRecorder& events_;
  upgrade::Actor& upgrades_;
  const Settings settings_;
  const std::function<void(const std::string&)> relabel_;
  const std::function<void()> labelled_;
  const Clock& clock_;
  Applier applier_;
  // Used by Cluster alone.
  struct Made {
    Context context;
    bool node_features = false;
    std::vector<DesiredOperand> operands;
  };
  std::optional<Made> made_;
  ForeignNfd foreign_;
  Undescribed undescribed_;
  std::vector<std::string> outdated_;  // definitions, as told last
  // State and reason that the last event told; of NVIDIADrivers by uid.
  std::string announced_;
  std::map<std::string, std::string> announced_drivers_;
  SteadyTime status_written_{};
  // Until Cluster has something to do again.
  std::optional<std::chrono::milliseconds> requeue_after_;
  Stalled stalled_;
  mutable std::mutex mutex_;
  std::optional<LabelRules> rules_;
  std::set<std::string> untried_;  // nodes that these rules were not tried on
  GoneNodes gone_;
  RuleFailures rule_failures_;
  std::shared_ptr<const DriverOwners> owners_ = std::make_shared<const DriverOwners>();
  Metrics metrics_;
};

}  // namespace gantry::gpu_operator
