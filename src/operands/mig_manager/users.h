// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/mig_plan.h"
#include "gpu/pod_gpus.h"
#include "operands/mig_manager/change.h"
#include "policy/mig_holders.h"

// Who uses the GPUs of a node, and who of them is in the way of a change. All of it pure.
namespace gantry::mig_manager {

struct User {
  gpu::GpuPart part;
  std::string pod = {};      // "default/train"; empty: it is a process
  std::string process = {};  // "process 1234 (python3)"
  bool in_pod = false;       // the process is in a container of some pod
};

// One that is in the way of a change.
struct Blocker {
  unsigned gpu = 0;  // its index
  std::string pod = {};
  std::string process = {};
  auto operator<=>(const Blocker&) const = default;
};
// "GPU 0: pod default/train".
std::string BlockerText(const Blocker& blocker);

// The GPU instances of a GPU that somebody uses.
std::set<unsigned> HeldInstances(std::span<const User> users, const std::string& uuid);

// Those whose GPU instance a plan destroys, or whose GPU changes its mode; each once. Without
// processes of pods on GPUs that a pod holds. `plans` are those of `targets`, in their order.
std::vector<Blocker> Blockers(std::span<const User> users, std::span<const Target> targets,
                              std::span<const gpu::MigPlan> plans);

// What the MIG manager reports about them to the operator.
policy::MigHolders HoldersOf(std::span<const Blocker> blockers, const std::string& layout);

}  // namespace gantry::mig_manager
