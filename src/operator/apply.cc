// SPDX-License-Identifier: Apache-2.0

// How is a plan applied to the cluster? Objects are created and replaced entirely. An existing
// object without Gantry's label (made by hand, or left by another release) is found when its
// creation is rejected, and taken over. If a change is rejected because a field is immutable (a
// binding's role), the object is recreated, except DaemonSets, whose pods would be deleted.

#include "operator/apply.h"

#include <functional>

#include "base/log.h"
#include "base/text.h"
#include "operator/adopt.h"
#include "operator/owned_kinds.h"

namespace gantry::gpu_operator {
namespace {

size_t HashOf(const std::string& text) { return std::hash<std::string>()(text); }

std::string Name(const ObjectKey& key) {
  return key.ns.empty() ? format("{} {}", key.kind, key.name)
                        : format("{} {}/{}", key.kind, key.ns, key.name);
}

kube::Key PlaceOf(const ObjectKey& key) { return {key.ns, key.name}; }

std::map<ObjectKey, Json> Parsed(
    const std::map<ObjectKey, std::shared_ptr<const OwnedFacts>>& owned) {
  std::map<ObjectKey, Json> objects;
  for (const auto& [key, facts] : owned) {
    auto object = ParseJson(facts->content);
    CHECK(object.has_value());
    objects.emplace(key, *std::move(object));
  }
  return objects;
}

}  // namespace

Plan Applier::Compare(const std::vector<const Json*>& desired,
                      const std::set<Incomplete>& incomplete) {
  auto owned = view_.Owned();
  // Usually only the DaemonSets' counts have changed: then nothing has to be parsed.
  std::vector<Json> unsettled;
  std::map<ObjectKey, Hashes> looked_at;
  for (const Json* object : desired) {
    const ObjectKey key = KeyOfObject(*object);
    const auto found = owned.find(key);
    if (found == owned.end()) {
      unsettled.push_back(*object);
      continue;
    }
    const Hashes hashes = {HashOf(object->dump()), HashOf(found->second->content)};
    if (const auto settled = settled_.find(key);
        settled != settled_.end() && settled->second == hashes) {
      owned.erase(found);
      continue;
    }
    looked_at[key] = hashes;
    unsettled.push_back(*object);
  }
  Plan plan = MakePlan(unsettled, Parsed(owned), incomplete);
  for (const Json& object : plan.replace) {
    looked_at.erase(KeyOfObject(object));
  }
  for (const auto& [key, hashes] : looked_at) {
    settled_[key] = hashes;
  }
  return plan;
}

std::map<ObjectKey, Json> Applier::Owned(const std::vector<ObjectKey>& keys) const {
  auto owned = view_.Owned();
  std::erase_if(
      owned, [&](const auto& entry) { return std::ranges::find(keys, entry.first) == keys.end(); });
  return Parsed(owned);
}

Status Applier::Apply(const Plan& plan) {
  Status first;
  const auto note = [&](Status status) {
    if (!status.has_value() && first.has_value()) {
      first = std::move(status);
    }
  };
  for (const Json& object : plan.create) {
    note(Create(object));
  }
  for (const Json& object : plan.replace) {
    note(Replace(object));
  }
  for (const ObjectKey& key : plan.remove) {
    note(Remove(key, kube::Propagation::kBackground));
  }
  for (const ObjectKey& key : plan.orphan) {
    note(Remove(key, kube::Propagation::kOrphan));
  }
  return first;
}

Status Applier::Create(const Json& object) {
  const ObjectKey key = KeyOfObject(object);
  const kube::Kind& kind = OwnedKind(key.kind);
  auto stored = client_.Create(kind, object);
  if (!stored.has_value() && stored.error().kind == ErrorKind::kConflict) {
    TRY_ASSIGN(const Json present, client_.Get(kind, PlaceOf(key)));
    return Replace(Replacement(InPlaceOf(object, present), present));
  }
  if (!stored.has_value()) {
    return std::unexpected(std::move(stored).error());
  }
  log::Info("created {}", Name(key));
  Settle(object, *stored);
  return {};
}

Status Applier::Replace(const Json& object) {
  const ObjectKey key = KeyOfObject(object);
  const kube::Kind& kind = OwnedKind(key.kind);
  auto stored = client_.Replace(kind, object);
  const auto is_invalid = [&] {
    return !stored.has_value() && stored.error().kind == ErrorKind::kInvalid;
  };
  if (is_invalid()) {
    // A RuntimeClass is only changed with the resourceVersion that was read.
    TRY_ASSIGN(const Json present, client_.Get(kind, PlaceOf(key)));
    Json versioned = object;
    versioned["metadata"]["resourceVersion"] = kube::ResourceVersionOf(present);
    stored = client_.Replace(kind, versioned);
  }
  if (is_invalid() && key.kind != "DaemonSet") {
    TRY(client_.Delete(kind, PlaceOf(key)));
    stored = client_.Create(kind, object);
  }
  if (!stored.has_value()) {
    return std::unexpected(std::move(stored).error());
  }
  log::Info("changed {}", Name(key));
  Settle(object, *stored);
  return {};
}

Status Applier::Remove(const ObjectKey& key, kube::Propagation propagation) {
  const Status removed =
      client_.Delete(OwnedKind(key.kind), PlaceOf(key), {.propagation = propagation});
  if (!removed.has_value() && removed.error().kind != ErrorKind::kNotFound) {
    return removed;
  }
  log::Info("removed {}{}", Name(key),
            propagation == kube::Propagation::kOrphan ? "; its pods stay" : "");
  settled_.erase(key);
  view_.Removed(key);
  return {};
}

void Applier::Settle(const Json& desired, const Json& stored) {
  settled_[KeyOfObject(desired)] = {HashOf(desired.dump()), HashOf(ContentOf(stored))};
  view_.Wrote(stored);
}

}  // namespace gantry::gpu_operator
