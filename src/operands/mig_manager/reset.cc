// SPDX-License-Identifier: Apache-2.0
// How is one GPU reset? NVML has no call for it; the driver's nvidia-smi does it.
#include "operands/mig_manager/reset.h"

#include <chrono>

#include "base/text.h"
#include "host/processes.h"

namespace gantry::mig_manager {

Status ResetGpu(const std::string& driver_root, const nvml::MigGpu& gpu) {
  const bool elsewhere = !driver_root.empty() && driver_root != "/";
  std::string program = "/usr/bin/nvidia-smi";
  if (!elsewhere) {
    TRY_ASSIGN(program, host::FindInPath("nvidia-smi"));
  }
  TRY_ASSIGN(const host::Finished reset,
             host::RunProgram({.words = {program, "-r", "-i", gpu.pci_bus_id},
                               .root = elsewhere ? driver_root : "",
                               .limit = std::chrono::minutes(2)}));
  if (reset.exit_status != 0) {
    return Fail(ErrorKind::kUnavailable,
                format("nvidia-smi -r -i {}: {}", gpu.pci_bus_id,
                       Trim(reset.output.empty() ? reset.errors : reset.output)));
  }
  return {};
}

}  // namespace gantry::mig_manager
