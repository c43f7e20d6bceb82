// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "kube/cache.h"
#include "kube/client.h"
#include "operator/node_facts.h"

namespace gantry::gpu_operator {

// The NodeFeature objects of the operator's namespace and of those that an administrator chose,
// read as one set of rules needs them. For all others only whether an NFD's worker wrote them, and
// whether it sees GPUs.
// Thread-safe.
class FeatureStore {
 public:
  // Called from the watch's thread; must not block.
  struct Changes {
    std::function<void(const std::string& node)> node;  // the features of that node
    std::function<void()> cluster;  // an NFD's worker, or a validator's message: for the policy
    std::function<void()> synced;   // everything was seen once
  };
  FeatureStore(kube::Client& client, std::string ns, FeatureReading reading, Changes changes);
  void Start() { watch_.Start(); }
  // Blocks; false if stopped before.
  bool WaitSynced(const std::stop_token& stop) const { return features_.WaitSynced(stop); }

  [[nodiscard]] const FeatureReading& reading() const { return reading_; }
  using Features = std::vector<std::pair<std::string, std::shared_ptr<const FeatureFacts>>>;
  // By name of the NodeFeature object, "namespace/name" in another namespace than the operator's.
  // In order of precedence: those of the operator's namespace first, then by name.
  [[nodiscard]] Features Of(const std::string& node) const;
  // Whether the object of that name (as in Of) exists, even one that does not count.
  [[nodiscard]] bool Has(const std::string& object) const;
  [[nodiscard]] bool Foreign() const;
  // Whether workers of another NFD, in namespaces whose objects don't count, see GPUs on the node;
  // nullopt: unknown.
  [[nodiscard]] std::optional<bool> ForeignGpusOf(const std::string& node) const;
  // The message of Gantry's validator or MIG manager in the object of that name, in the operator's
  // namespace; empty: nothing is wrong, or unknown.
  [[nodiscard]] std::string BrokenOf(const std::string& object) const;
  // What the node's MIG manager has published (FeatureFacts::mig_holders).
  [[nodiscard]] std::string MigHoldersOf(const std::string& node) const;

 private:
  // An object that describes a node, in the order of Of.
  struct Place {
    bool other_namespace = false;
    std::string name;
    std::string ns;
    auto operator<=>(const Place&) const = default;
  };
  [[nodiscard]] bool Counts(const std::string& ns) const;
  void Changed(const kube::Key& key, const FeatureFacts* before, const FeatureFacts* after);
  // The objects of one of the two maps that describe the node.
  using Describers = std::map<std::string, std::set<Place>>;
  [[nodiscard]] std::set<Place> PlacesOf(const Describers& objects, const std::string& node) const;

  const std::string ns_;
  const FeatureReading reading_;
  const Changes changes_;
  // Node -> the objects that count and describe it, and those of another NFD's workers.
  mutable std::mutex described_by_mutex_;
  Describers described_by_;
  Describers foreign_;
  kube::Cache<FeatureFacts> features_;
  kube::Watch watch_;  // last, so that it ends before the cache
};

}  // namespace gantry::gpu_operator
