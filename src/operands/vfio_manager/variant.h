// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::vfio_manager {

// The kernel module that hands a device to virtual machines: the one whose pattern in the text of
// /lib/modules/<release>/modules.alias ("alias vfio_pci:v000010DEd00002342sv*... <module>") fits
// `modalias` ("pci:v000010DEd...", sysfs) most closely; "vfio_pci" if none does.
std::string VfioModule(std::string_view modalias, std::string_view aliases);

}  // namespace gantry::vfio_manager
