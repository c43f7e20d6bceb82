// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gantry::nvml {

// The number that the driver of this version has for a field (NVML_FI_*) of the header that Gantry
// is compiled with, nvml.h 12.9. Driver 575 put five fields in front of those of power smoothing;
// 580.82 put them behind, where 570 and all later drivers have no other number for power smoothing
// (NVIDIA's nvidia-ml-py 12.570.86, 12.575.51, 13.580.65 and 13.580.82; an H200 with 580.159.04).
// An unknown version has the header's numbers.
unsigned FieldNumber(unsigned field, std::string_view driver_version);

}  // namespace gantry::nvml
