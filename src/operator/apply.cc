// SPDX-License-Identifier: Apache-2.0

// How does a plan come to the cluster? Objects are created and replaced whole. An object that is
// there without our label (made by hand, or left by another release) is found when its creation is
// refused, and taken over. One whose change is refused because a field can't be changed (a
// binding's role) is made anew, except DaemonSets, whose pods would go.

#include "operator/apply.h"

#include <functional>

#include "base/log.h"
#include "base/text.h"

namespace gantry::gpu_operator {
namespace {

size_t HashOf(const std::string& text) { return std::hash<std::string>()(text); }

std::string Name(const ObjectKey& key) {
  return key.space.empty() ? format("{} {}", key.kind, key.name)
                           : format("{} {}/{}", key.kind, key.space, key.name);
}

kube::Key PlaceOf(const ObjectKey& key) { return {key.space, key.name}; }

}  // namespace

Plan Applier::Compare(const std::vector<Json>& desired,
                      const std::set<std::string>& incomplete) const {
  std::map<ObjectKey, Json> observed = view_.Owned();
  for (const Json& object : desired) {
    const ObjectKey key = KeyOfObject(object);
    const auto settled = settled_.find(key);
    const auto found = observed.find(key);
    if (settled != settled_.end() && found != observed.end() &&
        settled->second == std::pair(HashOf(object.dump()), HashOf(found->second.dump()))) {
      found->second = object;
    }
  }
  return MakePlan(desired, observed, incomplete);
}

Status Applier::Carry(const Plan& plan) {
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
    return Replace(Replacement(object, present));
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
  if (!stored.has_value() && stored.error().kind == ErrorKind::kInvalid &&
      key.kind != "DaemonSet") {
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
  const auto content = ParseJson(ContentOf(stored));
  CHECK(content.has_value());
  settled_[KeyOfObject(desired)] = {HashOf(desired.dump()), HashOf(content->dump())};
  view_.Wrote(stored);
}

}  // namespace gantry::gpu_operator
