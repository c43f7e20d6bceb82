// SPDX-License-Identifier: Apache-2.0
// Answers how GPUs are placed to each other and to the processors: PCI distance, NUMA, NVLink.
//
// On boards with NVSwitches every link of a GPU ends in a switch; on others it ends in another GPU.
// A call about a link that the GPU doesn't have answers NOT_SUPPORTED: nvidia-smi asks for all 18
// and takes no other refusal.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "session.h"

using namespace fakegpu;

namespace {

u32 Level(u32 a, u32 b) {
  return static_cast<unsigned char>(TheMachine()->topology[a * kMaxGpus + b]);
}

// Calls see(number) for each number of a list as sysfs writes it: "0-3,8-11".
template <class See>
void EachOfList(const char* text, See see) {
  while (*text >= '0' && *text <= '9') {
    char* end = nullptr;
    unsigned long first = strtoul(text, &end, 10);
    unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
    for (unsigned long number = first; number <= last; ++number) see(number);
    text = *end == ',' ? end + 1 : end;
  }
}

void SetBit(unsigned long* set, unsigned size, unsigned long bit) {
  constexpr unsigned long kBits = 8 * sizeof(unsigned long);
  if (bit / kBits < size) set[bit / kBits] |= 1UL << (bit % kBits);
}

// The processors near the GPU are those of its NUMA node, or all of the machine's where that is
// unknown or where the kernel has no such node: a test machine has fewer than the profile says.
nvmlReturn_t PutCpus(const Gpu& gpu, unsigned size, unsigned long* set) {
  if (set == nullptr || size == 0) return NVML_ERROR_INVALID_ARGUMENT;
  std::memset(set, 0, size * sizeof *set);
  char path[80];
  snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", gpu.numa_node);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) file = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
  if (file < 0) return NVML_ERROR_NOT_SUPPORTED;
  char text[1024];
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  EachOfList(text, [&](unsigned long cpu) { SetBit(set, size, cpu); });
  return NVML_SUCCESS;
}

// Answers a call about two GPUs: answer(first, second), if both can be asked.
template <class Answer>
nvmlReturn_t OnPair(const char* call, nvmlDevice_t a, nvmlDevice_t b, Answer answer) {
  return OnGpu(call, a, [&](const Gpu& first) {
    return OnGpu(call, b, [&](const Gpu& second) { return answer(first, second); });
  });
}

// Answers a call about one link: answer(const Link&).
template <class Answer>
nvmlReturn_t OnLink(const char* call, nvmlDevice_t device, unsigned link, Answer answer) {
  return OnGpu(call, device, [&](const Gpu& gpu) {
    if (link >= kMaxLinks) return NVML_ERROR_INVALID_ARGUMENT;
    if (link >= gpu.link_count) return NVML_ERROR_NOT_SUPPORTED;
    return answer(gpu.links[link]);
  });
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned size,
                                                     unsigned long* set) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) { return PutCpus(gpu, size, set); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned size,
                                                                unsigned long* set,
                                                                nvmlAffinityScope_t) {
  return nvmlDeviceGetCpuAffinity(device, size, set);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned size,
                                                        unsigned long* set, nvmlAffinityScope_t) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (set == nullptr || size == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::memset(set, 0, size * sizeof *set);
    SetBit(set, size, gpu.numa_node == kUnknown32 ? 0 : gpu.numa_node);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b,
                                                                nvmlGpuTopologyLevel_t* out) {
  return OnPair(__func__, a, b, [&](const Gpu&, const Gpu&) {
    return PutEnum(out, Level(PositionOf(a), PositionOf(b)));
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device,
                                                             nvmlGpuTopologyLevel_t level,
                                                             unsigned* count, nvmlDevice_t* out) {
  return OnGpu(__func__, device, [&](const Gpu&) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    u32 room = *count, found = 0;
    for (u32 index = 0; index < VisibleCount(); ++index) {
      nvmlDevice_t other = VisibleAt(index);
      if (other == device || Level(PositionOf(device), PositionOf(other)) != u32{level}) continue;
      if (out != nullptr && found < room) out[found] = other;
      ++found;
    }
    *count = found;
    return out == nullptr || found <= room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned, unsigned* count,
                                                        nvmlDevice_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  u32 room = *count;
  *count = VisibleCount();
  if (out == nullptr) return NVML_SUCCESS;
  if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (u32 index = 0; index < *count; ++index) out[index] = VisibleAt(index);
  return NVML_SUCCESS;
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int* out) {
  return OnPair(__func__, a, b, [&](const Gpu&, const Gpu&) {
    return PutEnum(out, Level(PositionOf(a), PositionOf(b)) == NVML_TOPOLOGY_INTERNAL ? 1 : 0);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b,
                                                   nvmlGpuP2PCapsIndex_t what,
                                                   nvmlGpuP2PStatus_t* out) {
  return OnPair(__func__, a, b, [&](const Gpu& first, const Gpu& second) {
    bool linked = first.link_count > 0 && second.link_count > 0;
    bool near = Level(PositionOf(a), PositionOf(b)) < NVML_TOPOLOGY_SYSTEM;
    bool can = what == NVML_P2P_CAPS_INDEX_NVLINK ? linked : linked || near;
    return PutEnum(out, can ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link,
                                                     nvmlEnableState_t* out) {
  return OnLink(__func__, device, link, [&](const Link& one) { return PutEnum(out, one.active); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link,
                                                       unsigned* out) {
  return OnLink(__func__, device, link, [&](const Link& one) { return Put(out, one.version); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link,
                                                          nvmlNvLinkCapability_t capability,
                                                          unsigned* out) {
  return OnLink(__func__, device, link, [&](const Link&) {
    if (capability >= NVML_NVLINK_CAP_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return Put(out, capability == NVML_NVLINK_CAP_SLI_BRIDGE ? 0 : 1);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link,
                                                                nvmlIntNvLinkDeviceType_t* out) {
  return OnLink(__func__, device, link,
                [&](const Link& one) { return PutEnum(out, one.remote_kind); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                                                nvmlPciInfo_t* out) {
  return OnLink(__func__, device, link, [&](const Link& one) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = {};
    out->domain = one.remote_domain;
    out->bus = one.remote_bus;
    out->device = one.remote_slot;
    out->pciDeviceId = one.remote_pci_id;
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%04X:%02X:%02X.0",
             one.remote_domain & 0xffff, one.remote_bus & 0xff, one.remote_slot & 0xff);
    snprintf(out->busId, sizeof out->busId, "%08X:%02X:%02X.0", one.remote_domain,
             one.remote_bus & 0xff, one.remote_slot & 0xff);
    return NVML_SUCCESS;
  });
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned link,
                                                             nvmlPciInfo_t* out) {
  return nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link,
                                                            nvmlNvLinkErrorCounter_t counter,
                                                            unsigned long long* out) {
  return OnLink(__func__, device, link, [&](const Link& one) {
    return counter >= NVML_NVLINK_ERROR_COUNT ? NVML_ERROR_INVALID_ARGUMENT
                                              : Put(out, one.errors[counter]);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceResetNvLinkErrorCounters(nvmlDevice_t device, unsigned link) {
  return ChangeGpu(__func__, device, [&](Gpu& gpu) {
    if (link >= gpu.link_count) return NVML_ERROR_INVALID_ARGUMENT;
    std::memset(gpu.links[link].errors, 0, sizeof gpu.links[link].errors);
    return NVML_SUCCESS;
  });
}
