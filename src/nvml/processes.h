// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "nvml/nvml.h"
#include "nvml/sample.h"
#include "nvml/symbols.h"

// Who uses a GPU now. NVML translates process ids into the caller's PID namespace, and leaves out
// those that have none there.
namespace gantry::nvml {

struct ProcessUse {
  uint64_t memory = 0;  // bytes; 0: the driver does not say
  double sm = 0;        // percent of the time since the last question in which a kernel ran
  bool operator==(const ProcessUse&) const = default;
};

struct ProcessUses {
  std::map<unsigned, ProcessUse> by_pid;
  bool timed = false;  // `sm` is known; it is not in MIG mode
  uint64_t asked = 0;  // for the next question
};

// Those that compute, draw or are clients of MPS on a GPU or MIG device, with their GPU instances;
// one that does two of it is there twice. `object` names the device in errors. kUnsupported: this
// driver has no such list.
Result<std::vector<nvmlProcessInfo_t>> ListProcesses(const Symbols& nvml, nvmlDevice_t device,
                                                     std::string_view object);

// The same with how much they use. `since` is `asked` of
// the answer before, 0 at first. kUnsupported: this driver has no such list.
Result<ProcessUses> Processes(const Library& library, const FoundDevice& handle, uint64_t since);

// The same of a handle.
Result<ProcessUses> ProcessesOf(const Symbols& nvml, nvmlDevice_t device, uint64_t since);

}  // namespace gantry::nvml
