// SPDX-License-Identifier: Apache-2.0
// NVIDIA's own tools ask the library for a table of undocumented functions, and nvidia-smi ends if
// it gets none.
//
// What was seen of it (nvidia-smi 535): the first word is the table's size in bytes; a null entry
// means "not supported", which nvidia-smi shows as N/A. Four entries carry what a user looks for
// and are filled: the processes by kind, each in a record of 0x1020 bytes (an
// nvmlProcessDetail_v1_t and a name), and the PCI distance of two GPUs given by their bus ids,
// which `topo -m` wants.
#include <algorithm>

#include "session.h"

using namespace fakegpu;

namespace {

struct NamedProcess {
  nvmlProcessDetail_v1_t detail;
  char name[4096];
};
static_assert(sizeof(NamedProcess) == 0x1020);

// The records in ascending order of pid, which nvidia-smi's merging of the three kinds relies on.
template <auto call>
nvmlReturn_t Processes(nvmlDevice_t device, unsigned* count, NamedProcess* out) {
  if (count == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  nvmlProcessInfo_t plain[kMaxProcesses];
  unsigned found = kMaxProcesses;
  if (nvmlReturn_t no = call(device, &found, plain); no != NVML_SUCCESS) return no;
  if (found > *count) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::sort(plain, plain + found, [](const auto& a, const auto& b) { return a.pid < b.pid; });
  *count = found;
  for (unsigned i = 0; i < found; ++i) {
    out[i].detail = {plain[i].pid, plain[i].usedGpuMemory, plain[i].gpuInstanceId,
                     plain[i].computeInstanceId, 0};
    if (nvmlSystemGetProcessName(plain[i].pid, out[i].name, sizeof out[i].name) != NVML_SUCCESS) {
      std::strcpy(out[i].name, "[Not Found]");
    }
  }
  return NVML_SUCCESS;
}

// The distance in nvidia-smi's own order: PIX, PXB, PHB, NODE, SYS.
nvmlReturn_t CommonAncestor(const char* a, const char* b, unsigned* out) {
  nvmlDevice_t first = nullptr, second = nullptr;
  if (nvmlReturn_t no = nvmlDeviceGetHandleByPciBusId_v2(a, &first); no != NVML_SUCCESS) return no;
  if (nvmlReturn_t no = nvmlDeviceGetHandleByPciBusId_v2(b, &second); no != NVML_SUCCESS) return no;
  nvmlGpuTopologyLevel_t level{};
  nvmlReturn_t no = nvmlDeviceGetTopologyCommonAncestor(first, second, &level);
  if (no == NVML_SUCCESS) *out = level == NVML_TOPOLOGY_INTERNAL ? 0 : u32{level} / 10 - 1;
  return no;
}

constexpr unsigned kEntries = 512;
constexpr unsigned kCommonAncestor = 23, kComputeProcesses = 213, kGraphicsProcesses = 214,
                   kMpsProcesses = 215;

union Entry {
  u64 size;
  const void* function;
};

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlInternalGetExportTable(const void** out, const void* id) {
  if (out == nullptr || id == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  static Entry table[kEntries];
  table[0].size = sizeof table;
  table[kCommonAncestor].function = reinterpret_cast<const void*>(CommonAncestor);
  table[kComputeProcesses].function =
      reinterpret_cast<const void*>(Processes<nvmlDeviceGetComputeRunningProcesses_v3>);
  table[kGraphicsProcesses].function =
      reinterpret_cast<const void*>(Processes<nvmlDeviceGetGraphicsRunningProcesses_v3>);
  table[kMpsProcesses].function =
      reinterpret_cast<const void*>(Processes<nvmlDeviceGetMPSComputeRunningProcesses_v3>);
  *out = table;
  return NVML_SUCCESS;
}
