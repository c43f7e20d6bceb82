// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/cdi_hooks.h"
#include "container/driver_files.h"

// Devices beside the GPUs, which containers request by name: GPUDirect Storage, Mellanox OFED,
// GDRCopy, NVSwitches, IMEX channels; and the GPU of Windows under WSL.
namespace gantry::container {

// The CDI modes that SpecialCdi knows: "gds", "mofed", "gdrcopy", "nvswitch", "imex", "wsl".
const std::vector<std::string>& SpecialCdiModes();

// "<vendor>/imex-channel" for "imex", "<vendor>/gpu" for "wsl", else "<vendor>/<mode>".
std::string SpecialCdiKind(std::string_view vendor, std::string_view mode);

// One device `all`; for "imex" one for each channel, named by its number. kNotFound: the node has
// no such device; kInvalid: no such mode.
Result<CdiSpec> SpecialCdi(const std::string& mode, const std::string& kind,
                           const DriverPlace& place, const HookProgram& hook,
                           const HookSwitches& switches = {});

// Adds a device `all` with the edits of all others, unless there is one.
void AddAllDevice(CdiSpec& spec);

}  // namespace gantry::container
