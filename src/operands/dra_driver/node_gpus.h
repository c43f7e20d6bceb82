// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/driver_files.h"
#include "container/nvidia_cdi.h"
#include "gpu/gpu_set.h"
#include "operands/dra_driver/devices.h"

namespace gantry::dra_driver {

// What one look at the node gave: its GPUs, their devices, and the driver's files.
struct NodeGpus {
  gpu::GpuSet set;
  Devices devices;
  container::CdiInput cdi;  // `gpus` in the order of the set
  container::DriverInventory files;
};

// The CDI document of a claim: a device "<uid>-<name>" for each of its devices. kNotFound: this
// node has no device of such a name.
Result<container::CdiSpec> ClaimCdi(const std::string& uid, const std::vector<std::string>& names,
                                    const NodeGpus& node);

// Completes the look from the disk: devices, the driver's files, DRM nodes. `cdi` has the driver's
// place and the hook program. kNotFound: there is no driver library.
Result<NodeGpus> FindNodeGpus(gpu::GpuSet set, container::CdiInput cdi);

}  // namespace gantry::dra_driver
