// SPDX-License-Identifier: Apache-2.0
// Which slices does the API server have, and how do they become those that are wanted? What is
// written is known at once, before the watch shows it, so that nothing is written twice.
#include "operands/dra_driver/slice_store.h"

#include <utility>

#include "base/text.h"
#include "kube/kind.h"
#include "kube/object.h"

namespace gantry::dra_driver {

bool SliceStore::Put(const Json& object) {
  const std::lock_guard lock(mutex_);
  Json& known = slices_[kube::KeyOf(object).name];
  return std::exchange(known, object) != object;
}

void SliceStore::Upsert(const Json& object) {
  if (Put(object)) {
    changed_();
  }
}

void SliceStore::Remove(const kube::Key& key) {
  {
    const std::lock_guard lock(mutex_);
    slices_.erase(key.name);
  }
  changed_();
}

void SliceStore::Synced() {
  {
    const std::lock_guard lock(mutex_);
    synced_ = true;
  }
  changed_();
}

bool SliceStore::synced() const {
  const std::lock_guard lock(mutex_);
  return synced_;
}

bool SliceStore::empty() const {
  const std::lock_guard lock(mutex_);
  return slices_.empty();
}

std::vector<Json> SliceStore::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<Json> all;
  all.reserve(slices_.size());
  for (const auto& [name, slice] : slices_) {
    all.push_back(slice);
  }
  return all;
}

Status SliceStore::Keep(const Json& sent, const Result<Json>& stored) {
  if (!stored.has_value()) {
    return std::unexpected(stored.error());
  }
  Put(*stored);
  const Json* spec = At(*stored, "spec");
  if (spec == nullptr || *spec != sent.at("spec")) {
    return Fail(ErrorKind::kUnsupported,
                format("publish ResourceSlice {}: the API server dropped fields of it",
                       kube::KeyOf(*stored).name));
  }
  return {};
}

Result<bool> SliceStore::Publish(kube::Client& client, const SliceOwner& owner,
                                 const std::vector<Device>& devices) {
  const SlicePlan plan = PlanSlices(owner, devices, All());
  for (const Json& slice : plan.obsolete) {
    const kube::Key key = kube::KeyOf(slice);
    const Status deleted = client.Delete(
        kube::kinds::kResourceSlice, key,
        {.uid = kube::UidOf(slice), .resource_version = kube::ResourceVersionOf(slice)});
    if (!deleted.has_value() && deleted.error().kind != ErrorKind::kNotFound) {
      return std::unexpected(deleted.error());
    }
    const std::lock_guard lock(mutex_);
    slices_.erase(key.name);
  }
  for (const Json& slice : plan.replaced) {
    TRY(Keep(slice, client.Replace(kube::kinds::kResourceSlice, slice)));
  }
  for (const Json& slice : plan.created) {
    TRY(Keep(slice, client.Create(kube::kinds::kResourceSlice, slice)));
  }
  return !plan.empty();
}

}  // namespace gantry::dra_driver
