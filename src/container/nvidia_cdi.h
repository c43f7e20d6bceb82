// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/driver_files.h"

// The CDI document of a node's NVIDIA GPUs, made from the files of the driver as they lie on disk.
namespace gantry::container {

struct CdiGpu {
  std::string uuid;                // "GPU-..."
  int index = 0;                   // as NVML counts
  int minor = 0;                   // of /dev/nvidia<minor>
  std::string pci_bus_id;          // as sysfs spells it: "0000:65:00.0"
  std::vector<std::string> nodes;  // further device nodes of it ("/dev/nvidia-caps/nvidia-cap3")
};

enum class CdiNaming { kUuid, kIndex, kTypeIndex };  // GPU-..., 0, gpu0

struct CdiInput {
  DriverPlace driver;
  std::string kind;  // names::kDevicePluginCdiKind
  std::vector<CdiGpu> gpus;
  std::vector<CdiNaming> naming = {CdiNaming::kUuid};
  bool all_device = true;  // also a device "all": the union of the others
  std::string hook_path;   // on the host: "/usr/local/nvidia/toolkit/nvidia-cdi-hook"
  std::vector<std::string> disabled_hooks;  // upstream's names; "all": no hook at all
};

// The document for workloads: one device for each GPU and name. Blocks on the disk only.
// kNotFound: there is no driver library under the root.
Result<CdiSpec> NvidiaCdi(const CdiInput& input);

// The document for management containers (kind management.nvidia.com/gpu): one device `all` with
// every node of the driver under /dev. kNotFound if there is no driver library or no device node.
Result<CdiSpec> ManagementCdi(const CdiInput& input);

// The same from an inventory that was already made: values in, values out.
CdiSpec NvidiaCdiFrom(const CdiInput& input, const DriverInventory& found);
CdiSpec ManagementCdiFrom(const CdiInput& input, const DriverInventory& found);

}  // namespace gantry::container
