// SPDX-License-Identifier: Apache-2.0
// Which devices does a claim get on this node, and may it have them? What the scheduler allocated
// is checked against the hardware: a GPU and a MIG device of it are one thing.
#include "operands/dra_driver/claim_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "operands/dra_driver/claim_config.h"
#include "operands/dra_driver/json_members.h"
#include "policy/names.h"

namespace gantry::dra_driver {
namespace {

using kubelet::dra::Claim;
using kubelet::dra::PreparedDevice;

struct Allocated {
  std::string request;  // "a", or "a/b" of a prioritized list
  const Device* device = nullptr;
  bool admin = false;
};

// "a/b" -> "a".
std::string MainRequest(const std::string& request) { return request.substr(0, request.find('/')); }

bool IsOurs(const Json& result, const std::string& pool) {
  return TextAt(result, "driver") == names::kGpuDraDriver && TextAt(result, "pool") == pool;
}

Result<std::vector<Allocated>> ResultsOf(const Json& allocation, const std::string& pool,
                                         const Devices& devices) {
  std::vector<Allocated> results;
  for (const Json& result : ListAt(allocation, "devices.results")) {
    if (!IsOurs(result, pool)) {
      continue;
    }
    const std::string name = TextAt(result, "device");
    const Device* device = devices.Find(name);
    if (device == nullptr) {
      return Fail(ErrorKind::kNotFound,
                  format("device {} is not on this node any more; delete the pod, so that its "
                         "claim is allocated anew",
                         name));
    }
    if (!TextAt(result, "shareID").empty()) {
      return Fail(ErrorKind::kUnsupported,
                  format("device {}: shares of a device are not supported", name));
    }
    results.push_back({.request = TextAt(result, "request"),
                       .device = device,
                       .admin = BoolAt(result, "adminAccess", false)});
  }
  if (results.empty()) {
    return Fail(ErrorKind::kNotFound, format("it has no device of pool {}", pool));
  }
  return results;
}

bool Names(const std::vector<std::string>& requests, const std::string& request) {
  return std::ranges::find(requests, request) != requests.end() ||
         std::ranges::find(requests, MainRequest(request)) != requests.end();
}

// One entry of the allocation's configuration, for the results that it is about.
Status ApplyConfig(const Json& entry, const std::vector<Allocated>& results,
                   std::vector<std::optional<ClaimConfig>>& effective) {
  const Json* parameters = At(entry, "opaque.parameters");
  if (parameters == nullptr) {
    return Fail(ErrorKind::kInvalid, "opaque.parameters are missing");
  }
  TRY_ASSIGN(const ClaimConfig config, DecodeConfig(*parameters));
  const std::vector<std::string> requests = TextsAt(entry, "requests");
  for (size_t at = 0; at < results.size(); ++at) {
    const bool same_type = results[at].device->type == config.type;
    if (!requests.empty() && Names(requests, results[at].request) && !same_type) {
      return Fail(ErrorKind::kInvalid,
                  format("{} is for another type of device than request {} has",
                         TextAt(*parameters, "kind"), results[at].request));
    }
    if (same_type && (requests.empty() || Names(requests, results[at].request))) {
      effective[at] = config;
    }
  }
  return {};
}

// Those of the class come before those of the claim; a later one wins.
Status CheckConfigs(const Json& allocation, const std::vector<Allocated>& results) {
  std::vector<std::optional<ClaimConfig>> effective(results.size());
  for (const char* source : {"FromClass", "FromClaim"}) {
    for (const Json& entry : ListAt(allocation, "devices.config")) {
      if (TextAt(entry, "source") != source ||
          TextAt(entry, "opaque.driver") != names::kGpuDraDriver) {
        continue;
      }
      if (const Status applied = ApplyConfig(entry, results, effective); !applied.has_value()) {
        return std::unexpected(applied.error().In(
            source == std::string_view("FromClass") ? "its class' parameters" : "its parameters"));
      }
    }
  }
  for (const auto& config : effective) {
    if (config.has_value()) {
      TRY(CheckGates(*config));
    }
  }
  return {};
}

Status CheckOthers(const std::string& uid, const std::set<std::string>& reserved,
                   const Checkpoint& checkpoint) {
  for (const auto& [other, entry] : checkpoint.claims) {
    if (other == uid || !entry.completed) {
      continue;
    }
    for (const std::string& device : reserved) {
      for (const std::string& taken : entry.reserved) {
        if (Overlap(device, taken)) {
          return Fail(ErrorKind::kConflict,
                      format("requested device {} is already allocated to different claim {}",
                             device, other));
        }
      }
    }
  }
  return {};
}

// The status as NVIDIA's driver reads it: the allocation's results of this driver.
std::string StatusText(const std::vector<Allocated>& results, const std::string& pool) {
  std::string text;
  for (const Allocated& one : results) {
    text += format("{}{{\"request\":{},\"driver\":{},\"pool\":{},\"device\":{}{}}}",
                   text.empty() ? "" : ",", GoString(one.request), GoString(names::kGpuDraDriver),
                   GoString(pool), GoString(one.device->name),
                   one.admin ? ",\"adminAccess\":true" : "");
  }
  return R"({"allocation":{"devices":{"results":[)" + text + "]}}}";
}

std::string ListText(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ",") + GoString(text);
  }
  return "[" + list + "]";
}

std::string InfoText(const Device& device, const gpu::GpuSet& set) {
  const gpu::Gpu& gpu = set.gpus[device.gpu_at];
  if (!device.mig_at.has_value()) {
    return format(R"("gpu":{{"info":{{"uuid":{}}})", GoString(device.uuid));
  }
  const nvml::MigDevice& mig = gpu.mig_devices[*device.mig_at];
  return format(
      R"("mig":{{"concrete":{{"parentMinor":{},"giId":{},"ciId":{},"migUUID":{},"parentUUID":{},"parentPCIBusID":{}}})",
      gpu.minor, mig.gpu_instance, mig.compute_instance, GoString(mig.uuid), GoString(gpu.uuid),
      GoString(Lower(gpu.pci_bus_id)));
}

// One group, as all devices have one configuration.
std::string PreparedText(const std::vector<PreparedDevice>& prepared, const gpu::GpuSet& set,
                         const Devices& devices) {
  std::string text;
  for (const PreparedDevice& one : prepared) {
    const Device& device = *devices.Find(one.device);
    const std::string info =
        InfoText(device, set) + format(
                                    ",\"device\":{{\"Requests\":{},\"PoolName\":{},"
                                    "\"DeviceName\":{},\"CDIDeviceIDs\":{}}}}}",
                                    ListText(one.requests), GoString(one.pool),
                                    GoString(one.device), ListText(one.cdi_ids));
    text += format("{}{{{}}}", text.empty() ? "" : ",",
                   device.mig_at.has_value() ? "\"gpu\":null," + info : info + ",\"mig\":null");
  }
  return R"([{"devices":[)" + text + R"(],"configState":{}}])";
}

// Each device once: of several requests for one device all get it.
std::vector<PreparedDevice> Prepared(const std::vector<Allocated>& results, const std::string& uid,
                                     const std::string& pool) {
  std::vector<PreparedDevice> prepared;
  for (const Allocated& one : results) {
    auto known = std::ranges::find(prepared, one.device->name, &PreparedDevice::device);
    if (known == prepared.end()) {
      prepared.push_back(
          {.requests = {},
           .pool = pool,
           .device = one.device->name,
           .cdi_ids = {format("{}={}", kClaimCdiKind, ClaimCdiName(uid, one.device->name))}});
      known = prepared.end() - 1;
    }
    if (const std::string request = MainRequest(one.request);
        std::ranges::find(known->requests, request) == known->requests.end()) {
      known->requests.push_back(request);
    }
  }
  return prepared;
}

}  // namespace

std::string ClaimCdiName(const std::string& uid, const std::string& device) {
  return uid + "-" + device;
}

Result<ClaimEntry> PlanClaim(const Json& claim, const Claim& asked, const std::string& pool,
                             const gpu::GpuSet& set, const Devices& devices,
                             const Checkpoint& checkpoint) {
  const std::string uid = TextAt(claim, "metadata.uid");
  if (uid != asked.uid) {
    return Fail(ErrorKind::kConflict,
                format("its UID is {}, and the kubelet asks for {}", uid, asked.uid));
  }
  const Json* allocation = At(claim, "status.allocation");
  if (allocation == nullptr) {
    return Fail(ErrorKind::kNotFound, "it is not allocated");
  }
  TRY_ASSIGN(const auto results, ResultsOf(*allocation, pool, devices));
  TRY(CheckConfigs(*allocation, results));
  ClaimEntry entry{.completed = true,
                   .status = StatusText(results, pool),
                   .prepared = {},
                   .name = asked.name,
                   .ns = asked.ns,
                   .devices = Prepared(results, asked.uid, pool)};
  for (const Allocated& one : results) {
    if (!one.admin) {
      entry.reserved.insert(one.device->name);
    }
  }
  TRY(CheckOthers(asked.uid, entry.reserved, checkpoint));
  entry.prepared = PreparedText(entry.devices, set, devices);
  return entry;
}

Status CheckHolders(const ClaimEntry& entry, const gpu::GpuSet& set, const Devices& devices,
                    const gpu::Holders& holders) {
  for (const std::string& name : entry.reserved) {
    const Device* device = devices.Find(name);
    if (device == nullptr) {
      continue;
    }
    const gpu::Gpu& gpu = set.gpus[device->gpu_at];
    for (const auto& [part, users] : holders) {
      const bool same = part.uuid == gpu.uuid &&
                        (!device->mig_at.has_value() || !part.gpu_instance.has_value() ||
                         *part.gpu_instance == gpu.mig_devices[*device->mig_at].gpu_instance);
      if (same && !users.empty()) {
        return Fail(ErrorKind::kConflict, format("pod {}/{} has device {} from a device plugin",
                                                 users.front().ns, users.front().pod, name));
      }
    }
  }
  return {};
}

Status CheckOwners(const ClaimEntry& entry, const gpu::GpuSet& set, const Devices& devices,
                   const gpu::Owners& owners) {
  for (const PreparedDevice& prepared : entry.devices) {
    const Device* device = devices.Find(prepared.device);
    const auto owner =
        device == nullptr ? owners.end() : owners.find(set.gpus[device->gpu_at].uuid);
    if (owner != owners.end()) {
      return Fail(ErrorKind::kUnavailable,
                  format("device {} is not given out for now: {}: {}", prepared.device,
                         owner->second.program, owner->second.reason));
    }
  }
  return {};
}

}  // namespace gantry::dra_driver
