// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "operator/upgrade/observe.h"
#include "operator/upgrade/roll_out.h"
#include "operator/upgrade/watches.h"
#include "operator/view.h"

namespace gantry::gpu_operator::upgrade {

// Upgrades drivers: carries out the decisions of this folder's pure functions.
class Actor {
 public:
  // `wake` requests a Reconcile, `changed` is called when status() has changed; both come from any
  // thread and must not block.
  Actor(kube::Client& client, View& view, kube::EventRecorder& events, std::string ns,
        std::function<void()> wake, std::function<void()> changed,
        const Clock& clock = RealClock());

  // The upgrade policies; nothing: drivers are not upgraded, and started upgrades are rolled back.
  // Does nothing until the first call. Thread-safe.
  void SetPolicies(const Policies& policies);
  // Compares the cluster with the policies and takes the next steps. Blocks for its requests; one
  // thread.
  kube::Outcome Reconcile();
  // Thread-safe.
  [[nodiscard]] UpgradeStatus status() const;

 private:
  kube::Outcome Upgrade(const Policies& policies);
  Status AbandonAll();
  // nullopt: not everything has been seen yet.
  Result<std::optional<DriverSnapshot>> TakeSnapshot();
  [[nodiscard]] NodeInput Observe(const Observer& observer, const std::string& name,
                                  const NodeFacts& facts) const;
  Status ShowPods(const Policies& policies, std::vector<NodeInput>& nodes);
  Result<Json> ReadClaim(const kube::Key& key);
  Status ShowClaims(std::vector<NamedPod>& pods, std::map<std::string, bool>& known);
  Status Refresh(const Observer& observer, std::vector<NodeInput>& nodes);
  // Whether the node has taken a step.
  Result<bool> Apply(const NodeInput& node, const Change& change);
  // False: the Node has changed since the decision.
  Result<bool> Write(const NodeInput& node, const Change& change);
  void Evict(const NodeInput& node, const Change& change);
  void SetStatus(UpgradeStatus status);

  kube::Client& client_;
  View& view_;
  kube::EventRecorder& events_;
  const std::string ns_;
  const std::function<void()> wake_;
  const std::function<void()> changed_;
  const Clock& clock_;
  Watches watches_;
  // A node in its present state.
  struct NodeProgress {
    State state;
    WallTime since;
    std::optional<Eviction> eviction;
  };
  // By node. Lost with the process; then its step is retried.
  std::map<std::string, NodeProgress> progress_;
  std::map<std::string, bool> claimed_;  // whether a pod, by its uid, has GPUs by a claim
  mutable std::mutex mutex_;
  std::optional<Policies> policies_;
  UpgradeStatus status_;
};

}  // namespace gantry::gpu_operator::upgrade
