// SPDX-License-Identifier: Apache-2.0
// Which GPUs may no container get while the layout changes?
#include "operands/mig_manager/withdrawal.h"

#include "base/text.h"

namespace gantry::mig_manager {

gpu::Owners WithdrawnFor(std::span<const Target> targets, std::span<const gpu::MigPlan> plans,
                         const std::string& layout) {
  gpu::Owners owners;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!plans[i].steps.empty()) {
      owners[targets[i].uuid] = {.reason = layout.empty()
                                               ? std::string("its MIG layout changes")
                                               : format("its MIG layout changes to {}", layout),
                                 .exclusive = gpu::ChangesMode(plans[i])};
    }
  }
  return owners;
}

gpu::Owners WithdrawnUntilFree(std::span<const Target> targets, std::span<const gpu::MigPlan> plans,
                               const std::string& layout) {
  gpu::Owners owners = WithdrawnFor(targets, plans, layout);
  for (auto& [uuid, owner] : owners) {
    owner.reason += " when nobody uses it any more";
    owner.exclusive = false;
  }
  return owners;
}

gpu::Owners AllWithdrawn(std::span<const nvml::MigGpu> gpus) {
  gpu::Owners owners;
  for (const nvml::MigGpu& gpu : gpus) {
    owners[gpu.uuid] = {.reason = "a change of its MIG layout was cut off, and is ended now",
                        .exclusive = true};
  }
  return owners;
}

}  // namespace gantry::mig_manager
