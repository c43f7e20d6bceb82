// SPDX-License-Identifier: Apache-2.0

// What do NodeFeature objects say about each node? A worker's object is tens of kilobytes, so only
// what the rules of the moment can see is kept; when rules come that see more, another store is
// filled beside this one and takes its place (see view.cc).

#include "operator/feature_store.h"

#include "policy/kinds.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

kube::WatchOptions AbsentIsEmpty() {
  kube::WatchOptions options;
  options.absent_kind_is_empty = true;
  return options;
}

}  // namespace

FeatureStore::FeatureStore(kube::Client& client, std::string space, FeatureReading reading,
                           Changes changes)
    : space_(std::move(space)),
      reading_(std::move(reading)),
      changes_(std::move(changes)),
      features_(
          [this](const Json& object) {
            FeatureFacts facts = ProjectFeatures(object, reading_);
            const std::string in = TextAt(object, "metadata.namespace");
            if (in == space_) {
              return facts;
            }
            facts.broken.clear();
            if (Counts(in)) {
              facts.foreign = false;  // a worker that somebody chose to listen to
              return facts;
            }
            // Whoever may write there has no say in our nodes.
            FeatureFacts other;
            other.foreign = facts.foreign;
            return other;
          },
          [this](const kube::Key& key, const auto& before, const auto& after) {
            Changed(key, before.get(), after.get());
          },
          changes_.synced),
      watch_(client, policy::kNodeFeature, {}, features_, AbsentIsEmpty()) {}

void FeatureStore::Changed(const kube::Key& key, const FeatureFacts* before,
                           const FeatureFacts* after) {
  if (Counts(key.space)) {
    const Place place{key.space != space_, key.name, key.space};
    const std::lock_guard lock(described_by_mutex_);
    if (before != nullptr && (after == nullptr || after->node != before->node)) {
      std::set<Place>& objects = described_by_[before->node];
      objects.erase(place);
      if (objects.empty()) {
        described_by_.erase(before->node);
      }
    }
    if (after != nullptr) {
      described_by_[after->node].insert(place);
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

bool FeatureStore::Counts(const std::string& space) const {
  return space == space_ || reading_.spaces.contains(space);
}

FeatureStore::Features FeatureStore::Of(const std::string& node) const {
  std::set<Place> places;
  {
    const std::lock_guard lock(described_by_mutex_);
    if (const auto known = described_by_.find(node); known != described_by_.end()) {
      places = known->second;
    }
  }
  Features found;
  for (const Place& place : places) {
    if (auto facts = features_.Get({place.space, place.name}); facts != nullptr) {
      const kube::Key name{place.other_space ? place.space : "", place.name};
      found.emplace_back(name.Text(), std::move(facts));
    }
  }
  return found;
}

std::string FeatureStore::BrokenOf(const std::string& node) const {
  const auto facts = features_.Get({space_, names::kValidationFeature + node});
  return facts == nullptr ? "" : facts->broken;
}

bool FeatureStore::Has(const std::string& object) const {
  kube::Key key = kube::Key::FromText(object);
  if (key.space.empty()) {
    key.space = space_;
  }
  return features_.Get(key) != nullptr;
}

bool FeatureStore::Foreign() const {
  bool foreign = false;
  features_.ForEach([&](const kube::Key&, const FeatureFacts& facts) { foreign |= facts.foreign; });
  return foreign;
}

}  // namespace gantry::gpu_operator
