// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "kube/client.h"
#include "operator/feature_store.h"
#include "operator/rule_set.h"
#include "operator/watched_kind.h"

namespace gantry::gpu_operator {

// What node feature discovery publishes: NodeFeatureRules, and the NodeFeatures of the namespaces
// that count. Thread-safe.
class FeatureWatch {
 public:
  // Callbacks for changes, from the watches' threads; must not block.
  struct Changes {
    std::function<void(const std::string& node)> node;  // the features of the node
    std::function<void()> cluster;                      // whether there are any features
  };
  // `node_names`: the names of all nodes, whose labels may change with the rules.
  FeatureWatch(kube::Client& client, std::string ns, const MasterConfig& config, Changes changes,
               std::function<std::vector<std::string>()> node_names);
  ~FeatureWatch();
  FeatureWatch(const FeatureWatch&) = delete;
  FeatureWatch& operator=(const FeatureWatch&) = delete;
  void Start();
  // Blocks until everything was seen once; false if stopped before.
  bool WaitSynced(const std::stop_token& stop);
  // Null until the rules were seen once.
  [[nodiscard]] std::shared_ptr<FeatureStore> Store() const;
  [[nodiscard]] std::shared_ptr<const RuleSet> Rules() const;

 private:
  // The rules, or the namespaces whose NodeFeatures count. Nothing happens before both are known.
  void RulesChanged();
  void TellAllNodes();
  std::shared_ptr<FeatureStore> MakeStore(const nfd::Needs& needs,
                                          std::set<std::string, std::less<>> namespaces);
  void UseFilled(int number);

  kube::Client& client_;
  const std::string ns_;
  const MasterConfig config_;
  const Changes changes_;
  const std::function<std::vector<std::string>()> node_names_;
  mutable std::mutex features_mutex_;
  std::shared_ptr<const RuleSet> rules_ = std::make_shared<const RuleSet>();
  std::shared_ptr<FeatureStore> features_;  // null until the rules were seen once
  std::shared_ptr<FeatureStore> filling_;   // replaces features_ once it is complete
  int stores_ = 0;                          // number of stores made so far
  mutable std::condition_variable_any store_made_;
  WatchedKind<std::string> rule_objects_;  // NodeFeatureRules: spec.rules
  // Namespaces that an administrator chose, by name; null: none are configured.
  std::unique_ptr<WatchedKind<bool>> feature_namespaces_;
};

}  // namespace gantry::gpu_operator
