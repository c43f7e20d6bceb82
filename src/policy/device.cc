// SPDX-License-Identifier: Apache-2.0

// How does a GPU look as a Device object, and which of a node's objects differ?
#include "policy/device.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::policy {
namespace {

std::string NameOf(const Json& object) { return TextAt(object, "metadata.name"); }

std::string BusIdOf(const Json& object) { return TextAt(object, "spec.pciBusID"); }

}  // namespace

Json DeviceObject(const DeviceFacts& facts, const std::string& node, const std::string& node_uid) {
  Json labels = {{names::kDeviceNode, node}, {names::kManagedBy, names::kManagedByGantry}};
  Json spec = {{"node", node}, {"index", facts.index}, {"pciBusID", facts.pci_bus_id}};
  const auto say = [](Json& into, const char* key, const std::string& value) {
    if (!value.empty()) {
      into[key] = value;
    }
  };
  say(labels, names::kGpuProduct, facts.product);
  say(labels, names::kDeviceUuid, facts.uuid);
  say(spec, "product", facts.product);
  say(spec, "uuid", facts.uuid);
  say(spec, "driverVersion", facts.driver_version);
  say(spec, "cudaVersion", facts.cuda_version);
  say(spec, "computeCapability", facts.compute_capability);
  if (facts.memory_mib > 0) {
    spec["memory"] = facts.memory_mib;
  }
  if (facts.mig_capable.has_value()) {
    spec["migCapable"] = *facts.mig_capable;
  }
  return {{"apiVersion", format("{}/v1", names::kGpuNvidiaGroup)},
          {"kind", "Device"},
          {"metadata",
           {{"name", format("gpu-{}-node-{}", facts.index, node)},
            {"labels", std::move(labels)},
            {"ownerReferences",
             Json::array(
                 {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", node_uid}}})}}},
          {"spec", std::move(spec)}};
}

DeviceChanges PlanDevices(const std::vector<DeviceFacts>& gpus, const std::string& node,
                          const std::string& node_uid, const std::vector<Json>& stored) {
  DeviceChanges changes;
  std::set<std::string> there;
  for (const DeviceFacts& facts : gpus) {
    // Which index a GPU has, only the driver knows.
    if (const auto same = std::ranges::find(stored, facts.pci_bus_id, BusIdOf);
        facts.uuid.empty() && same != stored.end()) {
      there.insert(NameOf(*same));
      continue;
    }
    const Json object = DeviceObject(facts, node, node_uid);
    const std::string name = NameOf(object);
    there.insert(name);
    const auto before = std::ranges::find(stored, name, NameOf);
    if (before == stored.end()) {
      changes.create.push_back(object);
      continue;
    }
    Json after = *before;
    after.merge_patch(object);
    if (after != *before) {
      changes.patch.emplace_back(name, object);
    }
  }
  for (const Json& object : stored) {
    if (!there.contains(NameOf(object))) {
      changes.remove.push_back(NameOf(object));
    }
  }
  return changes;
}

}  // namespace gantry::policy
