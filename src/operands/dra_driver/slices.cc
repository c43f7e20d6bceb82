// SPDX-License-Identifier: Apache-2.0
// Which ResourceSlices does a node need, and what of the stored ones differs? A change in a slice
// keeps the pool's generation; another number of slices raises it in all of them, so that no
// scheduler takes the old ones and the new ones for one pool.
#include "operands/dra_driver/slices.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/kind.h"
#include "kube/object.h"
#include "policy/names.h"

namespace gantry::dra_driver {
namespace {

constexpr size_t kDevicesInSlice = 128;  // resource.k8s.io/v1, without taints and counters

std::vector<Json> Divided(const std::vector<Device>& devices) {
  std::vector<Json> parts(
      std::max<size_t>((devices.size() + kDevicesInSlice - 1) / kDevicesInSlice, 1), Json::array());
  for (size_t at = 0; at < devices.size(); ++at) {
    parts[at / kDevicesInSlice].push_back(devices[at].published);
  }
  return parts;
}

Json SpecOf(const SliceOwner& owner, Json devices, long long generation, size_t count) {
  Json spec = {
      {"driver", names::kGpuDraDriver},
      {"nodeName", owner.node},
      {"pool", {{"name", owner.node}, {"generation", generation}, {"resourceSliceCount", count}}}};
  if (!devices.empty()) {
    spec["devices"] = std::move(devices);
  }
  return spec;
}

// The name says the order of the slices; the API server completes it.
Json NewSlice(const SliceOwner& owner, size_t index) {
  Json slice = kube::NewObject(kube::kinds::kResourceSlice, {});
  const Json node = {{"apiVersion", "v1"},
                     {"kind", "Node"},
                     {"metadata", {{"name", owner.node}, {"uid", owner.node_uid}}}};
  Json reference = kube::OwnerReference(node, true);
  reference.erase("blockOwnerDeletion");
  slice["metadata"] = {
      {"generateName", format("{:05x}-{}-{}-", index, names::kGpuDraDriver, owner.node)},
      {"ownerReferences", Json::array({std::move(reference)})}};
  return slice;
}

}  // namespace

SlicePlan PlanSlices(const SliceOwner& owner, const std::vector<Device>& devices,
                     std::vector<Json> stored) {
  std::ranges::sort(stored, {}, [](const Json& slice) { return kube::KeyOf(slice).name; });
  std::vector<Json> parts = Divided(devices);
  long long newest = 0;
  for (const Json& slice : stored) {
    newest = std::max(newest, IntAt(slice, "spec.pool.generation", 0));
  }
  const bool same_number = stored.size() == parts.size();
  const long long generation = same_number ? std::max(newest, 1LL) : newest + 1;
  SlicePlan plan;
  for (size_t at = 0; at < parts.size(); ++at) {
    Json spec = SpecOf(owner, std::move(parts[at]), generation, parts.size());
    if (at >= stored.size()) {
      plan.created.push_back(NewSlice(owner, at));
      plan.created.back()["spec"] = std::move(spec);
    } else if (const Json* present = At(stored[at], "spec");
               present == nullptr || *present != spec) {
      plan.replaced.push_back(stored[at]);
      plan.replaced.back()["spec"] = std::move(spec);
    }
  }
  for (size_t at = parts.size(); at < stored.size(); ++at) {
    plan.obsolete.push_back(stored[at]);
  }
  return plan;
}

}  // namespace gantry::dra_driver
