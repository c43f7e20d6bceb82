// SPDX-License-Identifier: Apache-2.0
// How near are two GPUs to each other? NVML reports PCIe by pair, and NVLink by link: each link of
// a GPU names the PCI address of its other end. That is the other GPU's on directly wired boards,
// and an NVSwitch's on boards with switches, where every pair has as many links as the GPU with
// fewer.
#include <algorithm>
#include <map>

#include "nvml/errors.h"
#include "nvml/nvml.h"
#include "nvml/symbols.h"

namespace gantry::nvml {
namespace {

constexpr unsigned kMaxLinks = 36;  // of the newest boards; older nvml.h say 18

Ancestor ToAncestor(nvmlGpuTopologyLevel_t level) {
  switch (level) {
    case NVML_TOPOLOGY_INTERNAL:
      return Ancestor::kInternal;
    case NVML_TOPOLOGY_SINGLE:
      return Ancestor::kSingle;
    case NVML_TOPOLOGY_MULTIPLE:
      return Ancestor::kMultiple;
    case NVML_TOPOLOGY_HOSTBRIDGE:
      return Ancestor::kHostBridge;
    case NVML_TOPOLOGY_NODE:
      return Ancestor::kNode;
    case NVML_TOPOLOGY_SYSTEM:
      return Ancestor::kSystem;
  }
  return Ancestor::kUnknown;
}

struct Links {
  nvmlDevice_t handle = nullptr;
  unsigned to_switch = 0;
  std::map<std::string, unsigned> to_address;  // sysfs bus id -> number of links
};

Links ReadLinks(const Symbols& symbols, const Device& device) {
  Links links;
  if (Call(symbols.nvmlDeviceGetHandleByUUID, device.uuid.c_str(), &links.handle) != NVML_SUCCESS) {
    return links;
  }
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    nvmlEnableState_t state = NVML_FEATURE_DISABLED;
    const nvmlReturn_t code = Call(symbols.nvmlDeviceGetNvLinkState, links.handle, link, &state);
    if (code == NVML_ERROR_INVALID_ARGUMENT || code == NVML_ERROR_FUNCTION_NOT_FOUND) {
      break;  // past the last link
    }
    if (code != NVML_SUCCESS || state != NVML_FEATURE_ENABLED) {
      continue;
    }
    nvmlIntNvLinkDeviceType_t end = NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
    if (Call(symbols.nvmlDeviceGetNvLinkRemoteDeviceType, links.handle, link, &end) ==
            NVML_SUCCESS &&
        end == NVML_NVLINK_DEVICE_TYPE_SWITCH) {
      ++links.to_switch;
      continue;
    }
    nvmlPciInfo_t remote{};
    if (Call(symbols.nvmlDeviceGetNvLinkRemotePciInfo_v2, links.handle, link, &remote) ==
        NVML_SUCCESS) {
      ++links.to_address[SysfsBusId(remote)];
    }
  }
  return links;
}

unsigned LinksTo(const Links& links, const std::string& address) {
  const auto found = links.to_address.find(address);
  return found == links.to_address.end() ? 0 : found->second;
}

}  // namespace

Topology Library::Distances(const std::vector<Device>& devices) const {
  std::vector<Links> links;
  links.reserve(devices.size());
  for (const Device& device : devices) {
    links.push_back(ReadLinks(*symbols_, device));
  }
  Topology topology;
  topology.pairs.assign(devices.size(), std::vector<Pair>(devices.size()));
  for (size_t a = 0; a < devices.size(); ++a) {
    for (size_t b = a + 1; b < devices.size(); ++b) {
      Pair pair;
      nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
      if (Call(symbols_->nvmlDeviceGetTopologyCommonAncestor, links[a].handle, links[b].handle,
               &level) == NVML_SUCCESS) {
        pair.ancestor = ToAncestor(level);
      }
      // A link that just went down may be reported by one end only: a pair has the links that both
      // report.
      pair.nvlinks = std::min(LinksTo(links[a], devices[b].pci_bus_id),
                              LinksTo(links[b], devices[a].pci_bus_id));
      pair.switch_links = std::min(links[a].to_switch, links[b].to_switch);
      topology.pairs[a][b] = pair;
      topology.pairs[b][a] = pair;
    }
  }
  return topology;
}

Result<unsigned> Library::NvLinkPeerStatus(const std::string& from, const std::string& to) const {
  TRY_ASSIGN(const nvmlDevice_t first, HandleOf(*symbols_, from));
  TRY_ASSIGN(const nvmlDevice_t second, HandleOf(*symbols_, to));
  nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;
  const nvmlReturn_t code =
      Call(symbols_->nvmlDeviceGetP2PStatus, first, second, NVML_P2P_CAPS_INDEX_NVLINK, &status);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetP2PStatus", from, code);
  }
  return static_cast<unsigned>(status);
}

}  // namespace gantry::nvml
