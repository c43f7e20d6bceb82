// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "nvml/mig_control.h"

namespace gantry::gpu {

// A MIG profile as people write it:
// "[<compute>c.]<slices>g.<gigabytes>gb[+attribute,...|-attribute]".
struct MigProfile {
  unsigned compute = 0;  // compute slices of the compute instance
  unsigned slices = 0;   // of the GPU instance
  unsigned gigabytes = 0;
  std::string suffix;  // "+me", "+me.all", "+gfx", "-me", "+gfx,me" (sorted), ""
  bool operator==(const MigProfile&) const = default;
};

// kInvalid says what of the name is not as it must be.
Result<MigProfile> ParseMigProfile(std::string_view name);
// "3g.40gb", "1c.3g.40gb", "1g.10gb+me".
std::string MigProfileText(const MigProfile& profile);

// The profile of a GPU that is meant: the one of that name; else the one of as many slices and the
// same attributes whose gigabytes differ by 5 % at most, because drivers name one profile
// differently (1g.23gb and 1g.24gb on a GB200). kInvalid names those of the GPU that are near.
Result<const nvml::GpuInstanceProfile*> FindMigProfile(
    const MigProfile& wanted, std::span<const nvml::GpuInstanceProfile> of_gpu);

}  // namespace gantry::gpu
