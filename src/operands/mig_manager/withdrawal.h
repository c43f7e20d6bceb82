// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "gpu/mig_plan.h"
#include "gpu/owners.h"
#include "nvml/mig_control.h"
#include "operands/mig_manager/change.h"

// Which GPUs are taken from containers while they change. Pure.
namespace gantry::mig_manager {

// Those with a plan that has steps; exclusively if the mode changes or the GPU is reset, which the
// driver refuses while another program has the GPU open. `plans` are those of `targets`; `layout`
// is the name of what they lead to, if it has one.
gpu::Owners WithdrawnFor(std::span<const Target> targets, std::span<const gpu::MigPlan> plans,
                         const std::string& layout);

// The same GPUs, of which no container gets any more until the last one that holds one has ended;
// other programs keep them open meanwhile.
gpu::Owners WithdrawnUntilFree(std::span<const Target> targets, std::span<const gpu::MigPlan> plans,
                               const std::string& layout);

// All of them exclusively: for a change that was cut off, whose steps are not known.
gpu::Owners AllWithdrawn(std::span<const nvml::MigGpu> gpus);

}  // namespace gantry::mig_manager
