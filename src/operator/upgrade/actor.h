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

// What others are told of the upgrades.
struct Told {
  bool on = false;
  Counts counts;
  std::string summary;  // in one line; empty: nothing is to be said
  Json status;          // null while they are off
  bool unfinished = false;
  bool operator==(const Told&) const = default;
};

// Upgrades drivers: does on the cluster what the pure functions of this folder decide.
class Actor {
 public:
  // `wake` asks for a Look, `told` is called when told() says something else than before; both come
  // from any thread and must not block.
  Actor(kube::Client& client, View& view, kube::EventRecorder& events, std::string space,
        std::function<void()> wake, std::function<void()> told, const Clock& clock = RealClock());

  // What is asked for; nothing: drivers are not upgraded, and what was begun is taken back. Until
  // the first call nothing is done. Thread-safe.
  void Follow(const Policies& policies);
  // Looks at the cluster and does what is to be done now. Blocks for its requests; one thread.
  kube::Outcome Look();
  // Thread-safe.
  [[nodiscard]] Told told() const;

 private:
  kube::Outcome RollOn(const Policies& policies);
  Status AbandonAll();
  // nullopt: not everything was seen yet.
  Result<std::optional<Sight>> See();
  [[nodiscard]] NodeInput Observe(const Observer& observer, const std::string& name,
                                  const NodeFacts& facts) const;
  Status ShowPods(const Policies& policies, std::vector<NodeInput>& nodes);
  Result<Json> ReadClaim(const kube::Key& key);
  Status ShowClaims(std::vector<NamedPod>& pods, std::map<std::string, bool>& known);
  Status Refresh(const Observer& observer, std::vector<NodeInput>& nodes);
  // Whether the node has taken a step.
  Result<bool> Carry(const NodeInput& node, const Change& change);
  // False: the Node is not any more as it was when this was decided.
  Result<bool> Write(const NodeInput& node, const Change& change);
  void Evict(const NodeInput& node, const Change& change);
  void Tell(Told told);

  kube::Client& client_;
  View& view_;
  kube::EventRecorder& events_;
  const std::string space_;
  const std::function<void()> wake_;
  const std::function<void()> say_;
  const Clock& clock_;
  Watches watches_;
  // A node in the state that it is in.
  struct Followed {
    State state;
    WallTime since;
    std::optional<Eviction> eviction;
  };
  // By node. Lost with the process: then it is tried again.
  std::map<std::string, Followed> followed_;
  std::map<std::string, bool> claimed_;  // whether a pod, by its uid, has GPUs by a claim
  mutable std::mutex mutex_;
  std::optional<Policies> policies_;
  Told told_;
};

}  // namespace gantry::gpu_operator::upgrade
