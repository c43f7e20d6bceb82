// SPDX-License-Identifier: Apache-2.0
// Whom would a change cut off?
#include "operands/mig_manager/users.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::mig_manager {
std::set<unsigned> HeldInstances(std::span<const User> users, const std::string& uuid) {
  std::set<unsigned> held;
  for (const User& user : users) {
    if (user.part.uuid == uuid && user.part.gpu_instance.has_value()) {
      held.insert(*user.part.gpu_instance);
    }
  }
  return held;
}

std::string BlockerText(const Blocker& blocker) {
  return blocker.pod.empty() ? format("GPU {}: {}", blocker.gpu, blocker.process)
                             : format("GPU {}: pod {}", blocker.gpu, blocker.pod);
}

std::vector<Blocker> Blockers(std::span<const User> users, std::span<const Target> targets,
                              std::span<const gpu::MigPlan> plans) {
  std::vector<Blocker> blockers;
  for (size_t i = 0; i < targets.size(); ++i) {
    const std::set<unsigned> destroyed = gpu::DestroyedBy(plans[i]);
    const bool mode = gpu::ChangesMode(plans[i]);
    const auto is_here = [&](const User& user) { return user.part.uuid == targets[i].uuid; };
    const bool held_by_pod = std::ranges::any_of(
        users, [&](const User& user) { return is_here(user) && !user.pod.empty(); });
    for (const User& user : users) {
      const auto& instance = user.part.gpu_instance;
      const bool cut_off = mode || (instance.has_value() && destroyed.contains(*instance));
      const bool named_by_pod = user.in_pod && held_by_pod;
      const Blocker blocker{.gpu = targets[i].index, .pod = user.pod, .process = user.process};
      if (is_here(user) && cut_off && !named_by_pod &&
          std::ranges::find(blockers, blocker) == blockers.end()) {
        blockers.push_back(blocker);
      }
    }
  }
  return blockers;
}

policy::MigHolders HoldersOf(std::span<const Blocker> blockers, const std::string& layout) {
  policy::MigHolders holders{.layout = layout};
  for (const Blocker& blocker : blockers) {
    std::vector<std::string>& names = blocker.pod.empty() ? holders.processes : holders.pods;
    const std::string& name = blocker.pod.empty() ? blocker.process : blocker.pod;
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  return holders;
}

}  // namespace gantry::mig_manager
