// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nvml/nvml.h"

namespace gantry::nvml {

// The suffix of a GPU instance profile's name: "+me", "+me.all", "+gfx", "-me" or "". gi_profile is
// one of NVML_GPU_INSTANCE_PROFILE_*.
std::string_view MigSuffix(unsigned gi_profile);

// The same, read from the name that NVML gives to a MIG device ("NVIDIA H100 MIG 1g.10gb+me").
std::string MigSuffixOfName(std::string_view name);

// "1g.10gb" + suffix; "1c.3g.40gb" for a compute instance smaller than its GPU instance. The
// gigabytes are the GPU's times the instance's eighths, as in go-nvlib: they do not follow from
// memory_mib alone.
std::string MigProfileName(const MigAttributes& attributes, uint64_t gpu_memory_bytes,
                           std::string_view suffix);

}  // namespace gantry::nvml
