// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/mig_plan.h"
#include "gpu/pod_gpus.h"
#include "operands/mig_manager/change.h"

// Who uses the GPUs of a node, and who of them is in the way of a change. All of it pure.
namespace gantry::mig_manager {

struct User {
  gpu::GpuPart part;
  std::string name;  // "pod default/train", "process 1234 (python3)"
};

// The GPU instances of a GPU that somebody uses.
std::set<unsigned> HeldInstances(std::span<const User> users, const std::string& uuid);

// "GPU 0: pod default/train", ... of those whose GPU instance a plan destroys, or whose GPU changes
// its mode; each once. `plans` are those of `targets`, in their order.
std::vector<std::string> Blockers(std::span<const User> users, std::span<const Target> targets,
                                  std::span<const gpu::MigPlan> plans);

}  // namespace gantry::mig_manager
