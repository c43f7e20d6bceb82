// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "operator/driver_owners.h"
#include "operator/gone_nodes.h"
#include "operator/metrics.h"
#include "operator/node_labels.h"
#include "operator/rule_failures.h"
#include "operator/settings.h"
#include "operator/startup_taint.h"
#include "operator/view.h"

namespace gantry::gpu_operator {

// Writes on Nodes what the rules decide: labels, annotations, extended resources and taints.
// Thread-safe.
class NodeLabeller {
 public:
  // `relabel` is called with every node whose labels may change because the rules did, `labelled`
  // when Reconcile has been called for all of them; both from any thread, and must not block.
  NodeLabeller(kube::Client& client, View& view, kube::EventRecorder& events,
               const Settings& settings, std::function<void(const std::string& node)> relabel,
               std::function<void()> labelled, const Clock& clock);

  // Reconciles one node. Blocks for its requests.
  kube::Outcome Reconcile(const std::string& node);
  // Whether every node has been labelled by these rules, or tried.
  bool SetRules(const LabelRules& rules, const DriverOwners& owners);
  // Without a policy no label changes.
  void ClearRules();

  [[nodiscard]] NodeMetrics metrics() const;

 private:
  kube::Outcome Label(const std::string& name);
  // An empty name: for rules that can't be read.
  void ReportMistakes(const std::string& node, const std::vector<nfd::RuleMistake>& mistakes);
  Status Write(const std::string& name, const NodeChange& change, const TaintChange& taint);
  // Deletes the NodeFeatures of a node that is gone for good.
  kube::Outcome CollectGarbage(const std::string& node);

  kube::Client& client_;
  View& view_;
  kube::EventRecorder& events_;
  const Settings& settings_;
  const std::function<void(const std::string&)> relabel_;
  const std::function<void()> labelled_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::optional<LabelRules> rules_;
  std::shared_ptr<const DriverOwners> owners_ = std::make_shared<const DriverOwners>();
  std::set<std::string> untried_;  // nodes not yet tried with these rules
  GoneNodes gone_;
  RuleFailures rule_failures_;
  NodeMetrics metrics_;
};

}  // namespace gantry::gpu_operator
