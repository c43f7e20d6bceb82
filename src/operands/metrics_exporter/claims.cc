// SPDX-License-Identifier: Apache-2.0
// Which GPU is a device of a resource claim? The kubelet names the device, the driver's
// ResourceSlices say which GPU that is.
#include "operands/metrics_exporter/claims.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

std::string AttributeOf(const Json& device, std::string_view name) {
  // Before v1 the attributes are below "basic".
  for (const Json* attributes : {At(device, "attributes"), At(device, "basic.attributes")}) {
    if (attributes == nullptr) {
      continue;
    }
    for (const std::string& key : {std::string(name), format("{}/{}", kClaimDriver, name)}) {
      const Json* text = At(*attributes, {key, "string"});
      if (text != nullptr && text->is_string()) {
        return text->get<std::string>();
      }
    }
  }
  return "";
}

gpu::PodLabels AttributesOf(const kubelet::ClaimDevice& claimed, const SliceDevice& device) {
  gpu::PodLabels attributes = {{"dra_claim_name", claimed.claim},
                               {"dra_claim_namespace", claimed.ns},
                               {"dra_driver_name", claimed.driver},
                               {"dra_pool_name", claimed.pool},
                               {"dra_device_name", claimed.device}};
  if (device.uuid.starts_with("MIG-")) {
    attributes.emplace_back("dra_mig_profile", device.profile);
    attributes.emplace_back("dra_mig_device_uuid", device.uuid);
  }
  return attributes;
}

}  // namespace

Slice ProjectSlice(const Json& slice) {
  Slice projected{.pool = TextAt(slice, "spec.pool.name"),
                  .generation = IntAt(slice, "spec.pool.generation", 0),
                  .count = IntAt(slice, "spec.pool.resourceSliceCount", 1),
                  .devices = {}};
  for (const Json& device : ListAt(slice, "spec.devices")) {
    projected.devices.push_back({.name = TextAt(device, "name"),
                                 .uuid = AttributeOf(device, "uuid"),
                                 .profile = AttributeOf(device, "profile")});
  }
  return projected;
}

SliceDevices CompletePools(const std::vector<Slice>& slices) {
  std::map<std::string, std::map<long long, std::vector<const Slice*>>> pools;
  for (const Slice& slice : slices) {
    pools[slice.pool][slice.generation].push_back(&slice);
  }
  SliceDevices devices;
  for (const auto& [pool, generations] : pools) {
    const auto newest = std::find_if(generations.rbegin(), generations.rend(), [](const auto& one) {
      return static_cast<long long>(one.second.size()) >= one.second.front()->count;
    });
    if (newest == generations.rend()) {
      continue;
    }
    for (const Slice* slice : newest->second) {
      for (const SliceDevice& device : slice->devices) {
        devices[{pool, device.name}] = device;
      }
    }
  }
  return devices;
}

AdminDevices ProjectClaim(const Json& claim) {
  AdminDevices devices;
  for (const Json& result : ListAt(claim, "status.allocation.devices.results")) {
    if (BoolAt(result, "adminAccess", false)) {
      devices.emplace(TextAt(result, "pool"), TextAt(result, "device"));
    }
  }
  return devices;
}

std::set<kube::Key> ClaimsOf(const std::vector<kubelet::PodResources>& pods) {
  std::set<kube::Key> claims;
  for (const auto& pod : pods) {
    for (const auto& container : pod.containers) {
      for (const kubelet::ClaimDevice& claimed : container.claims) {
        if (claimed.driver == kClaimDriver) {
          claims.insert({.ns = claimed.ns, .name = claimed.claim});
        }
      }
    }
  }
  return claims;
}

void AddClaimHolders(const std::vector<kubelet::PodResources>& pods, const SliceDevices& devices,
                     const Claims& claims, const std::vector<gpu::Gpu>& gpus,
                     gpu::Holders& holders) {
  for (const auto& pod : pods) {
    for (const auto& container : pod.containers) {
      for (const kubelet::ClaimDevice& claimed : container.claims) {
        const auto device = devices.find({claimed.pool, claimed.device});
        const auto claim = claims.find({.ns = claimed.ns, .name = claimed.claim});
        if (claimed.driver != kClaimDriver || device == devices.end() || claim == claims.end() ||
            claim->second.contains({claimed.pool, claimed.device})) {
          continue;
        }
        if (const auto part = gpu::PartOfUuid(device->second.uuid, gpus)) {
          holders[*part].push_back({.ns = pod.ns,
                                    .pod = pod.name,
                                    .container = container.name,
                                    .replica = "",
                                    .attributes = AttributesOf(claimed, device->second)});
        }
      }
    }
  }
}

}  // namespace gantry::metrics_exporter
