// SPDX-License-Identifier: Apache-2.0

// What does node feature discovery publish? The kept parts of NodeFeatures depend on the rules, so
// a new store is made when the rules need more, and replaces the old one once it is filled.

#include "operator/feature_watch.h"

#include <utility>

#include "base/json.h"
#include "policy/kinds.h"

namespace gantry::gpu_operator {
namespace {

std::string RulesText(const Json& object) {
  const Json* rules = At(object, "spec.rules");
  return Json{{"rules", rules == nullptr ? Json::array() : *rules},
              {"uid", kube::UidOf(object)},
              {"generation", IntAt(object, "metadata.generation", 0)}}
      .dump();
}

}  // namespace

FeatureWatch::FeatureWatch(kube::Client& client, std::string ns, const MasterConfig& config,
                           Changes changes, std::function<std::vector<std::string>()> node_names)
    : client_(client),
      ns_(std::move(ns)),
      config_(config),
      changes_(std::move(changes)),
      node_names_(std::move(node_names)),
      rule_objects_(
          client, policy::kNodeFeatureRule, {}, RulesText, Always([this] { RulesChanged(); }),
          [this] { RulesChanged(); }, AbsentIsEmpty()),
      feature_namespaces_(config_.feature_namespaces.has_value()
                              ? std::make_unique<WatchedKind<bool>>(
                                    client, kube::kinds::kNamespace,
                                    kube::Selection{.labels = *config_.feature_namespaces},
                                    [](const Json&) { return true; },
                                    Always([this] { RulesChanged(); }), [this] { RulesChanged(); })
                              : nullptr) {}

// A store's watch reports changes to this object.
FeatureWatch::~FeatureWatch() {
  rule_objects_.watch.Stop();
  feature_namespaces_.reset();
  std::shared_ptr<FeatureStore> filling;
  std::shared_ptr<FeatureStore> features;
  {
    const std::lock_guard lock(features_mutex_);
    filling = std::move(filling_);
    features = std::move(features_);
  }
}

void FeatureWatch::Start() {
  rule_objects_.watch.Start();
  if (feature_namespaces_ != nullptr) {
    feature_namespaces_->watch.Start();
  }
}

bool FeatureWatch::WaitSynced(const std::stop_token& stop) {
  {
    std::unique_lock lock(features_mutex_);
    if (!store_made_.wait(lock, stop, [this] { return features_ != nullptr; })) {
      return false;
    }
  }
  return Store()->WaitSynced(stop);
}

std::shared_ptr<FeatureStore> FeatureWatch::Store() const {
  const std::lock_guard lock(features_mutex_);
  return features_;
}

std::shared_ptr<const RuleSet> FeatureWatch::Rules() const {
  const std::lock_guard lock(features_mutex_);
  return rules_;
}

std::shared_ptr<FeatureStore> FeatureWatch::MakeStore(
    const nfd::Needs& needs, std::set<std::string, std::less<>> namespaces) {
  return std::make_shared<FeatureStore>(
      client_, ns_,
      FeatureReading{.needs = needs,
                     .label_policy = config_.label_policy,
                     .namespaces = std::move(namespaces),
                     .labels = config_.labels,
                     .others_labels = config_.others_labels},
      FeatureStore::Changes{.node = changes_.node,
                            .cluster = changes_.cluster,
                            .synced = [this, number = ++stores_] { UseFilled(number); }});
}

// The new store is complete.
void FeatureWatch::UseFilled(int number) {
  std::shared_ptr<FeatureStore> old;
  {
    const std::lock_guard lock(features_mutex_);
    if (filling_ == nullptr || number != stores_) {
      return;
    }
    old = std::exchange(features_, std::move(filling_));
    filling_ = nullptr;
  }
  TellAllNodes();
}

void FeatureWatch::TellAllNodes() {
  for (const std::string& node : node_names_()) {
    changes_.node(node);
  }
}

void FeatureWatch::RulesChanged() {
  if (!rule_objects_.cache.synced() ||
      (feature_namespaces_ != nullptr && !feature_namespaces_->cache.synced())) {
    return;
  }
  std::set<std::string, std::less<>> namespaces;
  if (feature_namespaces_ != nullptr) {
    feature_namespaces_->cache.ForEach(
        [&](const kube::Key& key, bool) { namespaces.insert(key.name); });
    namespaces.erase(ns_);
  }
  std::vector<RuleText> objects;
  rule_objects_.cache.ForEach([&](const kube::Key& key, const std::string& text) {
    if (auto object = ParseJson(text); object.has_value()) {
      objects.push_back({key.name, std::move((*object)["rules"]), TextAt(*object, "uid"),
                         IntAt(*object, "generation", 0)});
    }
  });
  auto set = std::make_shared<const RuleSet>(MakeRuleSet(objects));
  std::shared_ptr<FeatureStore> fresh;
  std::shared_ptr<FeatureStore> superseded;
  {
    const std::lock_guard lock(features_mutex_);
    rules_ = set;
    const auto& latest = filling_ != nullptr ? filling_ : features_;
    if (latest == nullptr || latest->reading().namespaces != namespaces ||
        !nfd::Covers(latest->reading().needs, set->needs)) {
      fresh = MakeStore(set->needs, std::move(namespaces));
      if (features_ == nullptr) {
        features_ = fresh;
        store_made_.notify_all();
      } else {
        superseded = std::exchange(filling_, fresh);
      }
    }
  }
  if (fresh != nullptr) {
    fresh->Start();
  } else {
    TellAllNodes();
  }
}

}  // namespace gantry::gpu_operator
