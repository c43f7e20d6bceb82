// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "host/child_call.h"
#include "operands/gpu_features/facts.h"

namespace gantry::gpu_features {

// The sources of the facts.
struct Sources {
  std::filesystem::path driver_root;  // as mounted here; empty: the loader finds NVML
  std::string dev_root;               // the same for the device nodes; empty: /dev as it is
  std::string sys_root;
  std::string machine_type_file;
  std::string host_root = {};  // the host's root as mounted here, for its pci.ids
  std::string own_root = "/";  // the image's root: its pci.ids may have more than the host's
  bool vfio = false;           // the GPUs that vfio-pci holds, instead of the driver's
  bool driver_may_be_missing = false;  // true: no GPUs then; false: an error
};

// Facts of the PCI bus without a driver: `pci_classes`, `config_space_readable`, `vgpu`.
Result<Facts> GatherBus(const Sources& sources);

// Asks the driver and sysfs. Blocks as long as the driver does. kNotFound: no library or no driver
// loaded; kUnavailable: there are GPUs, and none answers.
Result<Facts> Gather(const Sources& sources);

// Does so in a child process that is abandoned if it does not answer, so that a hanging driver
// never hangs the caller, and the library's memory is freed with the child. Single-threaded.
class Gatherer {
 public:
  // kTimeout: no result within `limit`, or an earlier child still hangs in the driver, or `stop_fd`
  // became readable; kUnavailable: the child died.
  Result<Facts> Ask(const Sources& sources, std::chrono::milliseconds limit, int stop_fd);

 private:
  host::ChildCall child_{"ask the driver"};
};

}  // namespace gantry::gpu_features
