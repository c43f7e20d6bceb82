// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "gpu/mig_plan.h"
#include "nvml/mig_control.h"

// What `nvidia-mig-parted assert` finds. All of it pure; `layouts` are those of `gpus`, in their
// order (mig_manager::LayoutsFor).
namespace gantry::mig_parted {

using Layouts = std::vector<std::optional<gpu::MigLayout>>;

// kConflict names the first GPU that is not as it is to be. One that can be divided and that no
// entry is about counts as such.
Status AssertApplied(std::span<const nvml::MigGpu> gpus, const Layouts& layouts, bool mode_only);

// kInvalid names the first GPU that cannot be so, whatever is on it now.
Status AssertValid(std::span<const nvml::MigGpu> gpus, const Layouts& layouts);

}  // namespace gantry::mig_parted
