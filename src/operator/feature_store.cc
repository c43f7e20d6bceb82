// SPDX-License-Identifier: Apache-2.0

// What do NodeFeature objects say about each node? A worker's object is tens of kilobytes, so only
// what the present rules can see is kept. If new rules see more, another store is filled and
// replaces this one (see view.cc).

#include "operator/feature_store.h"

#include "operator/watched_kind.h"
#include "policy/kinds.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

FeatureStore::FeatureStore(kube::Client& client, std::string ns, FeatureReading reading,
                           Changes changes)
    : ns_(std::move(ns)),
      reading_(std::move(reading)),
      changes_(std::move(changes)),
      features_(
          [this](const Json& object) {
            FeatureFacts facts = ProjectFeatures(object, reading_);
            const std::string in = TextAt(object, "metadata.namespace");
            if (in == ns_) {
              return facts;
            }
            facts.broken.clear();
            facts.mig_holders.clear();
            if (Counts(in)) {
              facts.foreign = false;  // an administrator chose this namespace
              return facts;
            }
            // Objects of this namespace do not count for the operator's nodes, but another NFD's
            // master uses what its workers write.
            FeatureFacts other;
            other.foreign = facts.foreign;
            if (facts.foreign && facts.gpus.has_value()) {
              other.node = std::move(facts.node);
              other.gpus = facts.gpus;
            }
            return other;
          },
          [this](const kube::Key& key, const auto& before, const auto& after) {
            Changed(key, before.get(), after.get());
          },
          changes_.synced),
      watch_(client, policy::kNodeFeature, {}, features_, AbsentIsEmpty()) {}

void FeatureStore::Changed(const kube::Key& key, const FeatureFacts* before,
                           const FeatureFacts* after) {
  {
    const Place place{key.ns != ns_, key.name, key.ns};
    const std::lock_guard lock(described_by_mutex_);
    Describers& describers = Counts(key.ns) ? described_by_ : foreign_;
    if (before != nullptr && (after == nullptr || after->node != before->node)) {
      std::set<Place>& objects = describers[before->node];
      objects.erase(place);
      if (objects.empty()) {
        describers.erase(before->node);
      }
    }
    if (after != nullptr && !after->node.empty()) {
      describers[after->node].insert(place);
    }
  }
  for (const FeatureFacts* facts : {before, after}) {
    if (facts != nullptr && !facts->node.empty()) {
      changes_.node(facts->node);
    }
    if (facts != nullptr && facts->foreign) {
      changes_.cluster();
    }
  }
  const auto broken = [](const FeatureFacts* facts) {
    return facts == nullptr ? std::string_view() : std::string_view(facts->broken);
  };
  if (broken(before) != broken(after)) {
    changes_.cluster();
  }
}

bool FeatureStore::Counts(const std::string& ns) const {
  return ns == ns_ || reading_.namespaces.contains(ns);
}

std::set<FeatureStore::Place> FeatureStore::PlacesOf(const Describers& objects,
                                                     const std::string& node) const {
  const std::lock_guard lock(described_by_mutex_);
  const auto known = objects.find(node);
  return known == objects.end() ? std::set<Place>() : known->second;
}

FeatureStore::Features FeatureStore::Of(const std::string& node) const {
  Features found;
  for (const Place& place : PlacesOf(described_by_, node)) {
    if (auto facts = features_.Get({place.ns, place.name}); facts != nullptr) {
      const kube::Key name{place.other_namespace ? place.ns : "", place.name};
      found.emplace_back(name.Text(), std::move(facts));
    }
  }
  return found;
}

std::optional<bool> FeatureStore::ForeignGpusOf(const std::string& node) const {
  std::optional<bool> gpus;
  for (const Place& place : PlacesOf(foreign_, node)) {
    const auto facts = features_.Get({place.ns, place.name});
    const std::optional<bool> own = facts == nullptr ? std::nullopt : facts->gpus;
    if (own.has_value()) {
      gpus = gpus.value_or(false) || *own;
    }
  }
  return gpus;
}

std::string FeatureStore::BrokenOf(const std::string& object) const {
  const auto facts = features_.Get({ns_, object});
  return facts == nullptr ? "" : facts->broken;
}

std::string FeatureStore::MigHoldersOf(const std::string& node) const {
  const auto facts = features_.Get({ns_, names::kMigFeature + node});
  return facts == nullptr ? "" : facts->mig_holders;
}

bool FeatureStore::Has(const std::string& object) const {
  kube::Key key = kube::Key::FromText(object);
  if (key.ns.empty()) {
    key.ns = ns_;
  }
  return features_.Get(key) != nullptr;
}

bool FeatureStore::Foreign() const {
  bool foreign = false;
  features_.ForEach([&](const kube::Key&, const FeatureFacts& facts) { foreign |= facts.foreign; });
  return foreign;
}

}  // namespace gantry::gpu_operator
