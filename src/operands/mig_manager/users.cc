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

std::vector<std::string> Blockers(std::span<const User> users, std::span<const Target> targets,
                                  std::span<const gpu::MigPlan> plans) {
  std::vector<std::string> blockers;
  for (size_t i = 0; i < targets.size(); ++i) {
    const std::set<unsigned> destroyed = gpu::DestroyedBy(plans[i]);
    const bool mode = gpu::ChangesMode(plans[i]);
    for (const User& user : users) {
      const auto& instance = user.part.gpu_instance;
      const bool cut_off = mode || (instance.has_value() && destroyed.contains(*instance));
      const std::string text = format("GPU {}: {}", targets[i].index, user.name);
      if (user.part.uuid == targets[i].uuid && cut_off &&
          std::ranges::find(blockers, text) == blockers.end()) {
        blockers.push_back(text);
      }
    }
  }
  return blockers;
}

}  // namespace gantry::mig_manager
