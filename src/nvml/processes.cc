// SPDX-License-Identifier: Apache-2.0
// Which processes use a GPU, how much of its memory, and how much of its time?
#include "nvml/processes.h"

#include <algorithm>
#include <vector>

#include "nvml/errors.h"
#include "nvml/symbols.h"

namespace gantry::nvml {
namespace {

// More processes than were counted may come between two calls, and again.
constexpr unsigned kSpare = 8;
constexpr int kTries = 5;

using List = nvmlReturn_t (*)(nvmlDevice_t, unsigned*, nvmlProcessInfo_t*);

template <typename Ask, typename Item>
nvmlReturn_t Fill(const Ask& ask, std::vector<Item>& items) {
  unsigned count = 0;
  nvmlReturn_t code = ask(&count, nullptr);
  for (int i = 0; code == NVML_ERROR_INSUFFICIENT_SIZE && i < kTries; ++i) {
    count += kSpare;
    items.resize(count);
    code = ask(&count, items.data());
  }
  items.resize(code == NVML_SUCCESS ? count : 0);
  return code;
}

// `newest`, or where the driver has none `older`, which has the same structures.
nvmlReturn_t ReadList(List newest, List older, nvmlDevice_t device,
                      std::vector<nvmlProcessInfo_t>& infos) {
  return Fill(
      [&](unsigned* count, nvmlProcessInfo_t* into) {
        return Call(newest != nullptr ? newest : older, device, count, into);
      },
      infos);
}

void AddList(const std::vector<nvmlProcessInfo_t>& infos, std::map<unsigned, ProcessUse>& uses) {
  for (const nvmlProcessInfo_t& info : infos) {
    // Of a process that computes and draws, both lists have all of its memory.
    uint64_t& memory = uses[info.pid].memory;
    if (info.usedGpuMemory != static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE)) {
      memory = std::max<uint64_t>(memory, info.usedGpuMemory);
    }
  }
}

// The driver gives no sample of a process that did nothing, and may give several of one that did.
void AddTimes(const Symbols& nvml, nvmlDevice_t device, uint64_t since, ProcessUses& to) {
  std::vector<nvmlProcessUtilizationSample_t> samples;
  const nvmlReturn_t code = Fill(
      [&](unsigned* count, nvmlProcessUtilizationSample_t* into) {
        return Call(nvml.nvmlDeviceGetProcessUtilization, device, into, count, since);
      },
      samples);
  to.timed = code == NVML_SUCCESS || code == NVML_ERROR_NOT_FOUND;
  to.asked = since;
  std::map<unsigned, unsigned> counts;
  unsigned most = 1;
  for (const auto& sample : samples) {
    if (sample.timeStamp <= since) {
      continue;  // an unused place in the driver's buffer
    }
    to.by_pid[sample.pid].sm += sample.smUtil;
    most = std::max(most, ++counts[sample.pid]);
    to.asked = std::max<uint64_t>(to.asked, sample.timeStamp);
  }
  for (auto& [pid, use] : to.by_pid) {
    use.sm /= most;
  }
}

}  // namespace

Result<std::vector<nvmlProcessInfo_t>> ListProcesses(const Symbols& nvml, nvmlDevice_t device,
                                                     std::string_view object) {
  std::vector<nvmlProcessInfo_t> all;
  const nvmlReturn_t code = ReadList(nvml.nvmlDeviceGetComputeRunningProcesses_v3,
                                     nvml.nvmlDeviceGetComputeRunningProcesses_v2, device, all);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetComputeRunningProcesses", object, code);
  }
  // Not every GPU draws or runs MPS: a list that fails is empty.
  std::vector<nvmlProcessInfo_t> more;
  ReadList(nvml.nvmlDeviceGetGraphicsRunningProcesses_v3,
           nvml.nvmlDeviceGetGraphicsRunningProcesses_v2, device, more);
  all.insert(all.end(), more.begin(), more.end());
  ReadList(nvml.nvmlDeviceGetMPSComputeRunningProcesses_v3,
           nvml.nvmlDeviceGetMPSComputeRunningProcesses_v2, device, more);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Result<ProcessUses> ProcessesOf(const Symbols& nvml, nvmlDevice_t device, uint64_t since) {
  ProcessUses uses;
  TRY_ASSIGN(const std::vector<nvmlProcessInfo_t> infos, ListProcesses(nvml, device, ""));
  AddList(infos, uses.by_pid);
  AddTimes(nvml, device, since, uses);
  return uses;
}

Result<ProcessUses> Processes(const Library& library, const FoundDevice& handle, uint64_t since) {
  return ProcessesOf(library.symbols(), static_cast<nvmlDevice_t>(handle.device), since);
}

}  // namespace gantry::nvml
