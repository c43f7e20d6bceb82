// SPDX-License-Identifier: Apache-2.0

// What is the Device object of a GPU, and which of a node's stored objects differ?
#include "policy/device.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::policy {
namespace {

std::string NameOf(const Json& object) { return TextAt(object, "metadata.name"); }

std::string NameAt(unsigned index, const std::string& node) {
  return format("gpu-{}-node-{}", index, node);
}

std::string BusIdOf(const Json& object) { return TextAt(object, "spec.pciBusID"); }

// The merge patch that turns an object into another GPU's: nothing of the earlier one is kept.
Json ForAnotherGpu(const Json& before, Json object) {
  Json& labels = object["metadata"]["labels"];
  for (const char* label : {names::kGpuProduct, names::kDeviceUuid}) {
    labels.emplace(label, nullptr);
  }
  if (const Json* spec = At(before, "spec"); spec != nullptr) {
    for (const auto& [key, value] : spec->items()) {
      object["spec"].emplace(key, nullptr);
    }
  }
  return object;
}

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
           {{"name", NameAt(facts.index, node)},
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
  const auto plan = [&](const DeviceFacts& facts) {
    const Json object = DeviceObject(facts, node, node_uid);
    const std::string name = NameOf(object);
    there.insert(name);
    const auto before = std::ranges::find(stored, name, NameOf);
    if (before == stored.end()) {
      changes.create.push_back(object);
      return;
    }
    const Json patch =
        BusIdOf(*before) == facts.pci_bus_id ? object : ForAnotherGpu(*before, object);
    Json after = *before;
    after.merge_patch(patch);
    if (after != *before) {
      changes.patch.emplace_back(name, patch);
    }
  };
  // Only the driver knows a GPU's index. The remaining objects keep the free indexes they have.
  std::vector<DeviceFacts> undriven;
  for (const DeviceFacts& facts : gpus) {
    if (facts.uuid.empty()) {
      undriven.push_back(facts);
    } else {
      plan(facts);
    }
  }
  std::erase_if(undriven, [&](const DeviceFacts& facts) {
    const auto same = std::ranges::find(stored, facts.pci_bus_id, BusIdOf);
    return same != stored.end() && there.insert(NameOf(*same)).second;
  });
  for (DeviceFacts& facts : undriven) {
    while (there.contains(NameAt(facts.index, node))) {
      ++facts.index;
    }
    plan(facts);
  }
  for (const Json& object : stored) {
    if (!there.contains(NameOf(object))) {
      changes.remove.push_back(NameOf(object));
    }
  }
  return changes;
}

}  // namespace gantry::policy
