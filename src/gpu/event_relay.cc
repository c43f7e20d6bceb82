// SPDX-License-Identifier: Apache-2.0
// Has another listener told this event?
#include "gpu/event_relay.h"

#include <algorithm>

namespace gantry::gpu {

bool EventRelay::IsNew(int listener, const nvml::EventSet::Event& event, SteadyTime now) {
  auto& own = echoes_[listener];
  std::erase_if(own, [now](const Echo& echo) { return echo.told_at + kEcho < now; });
  if (const auto twin = std::ranges::find(own, event, &Echo::event); twin != own.end()) {
    own.erase(twin);
    return false;
  }
  for (auto& [other, echoes] : echoes_) {
    if (other != listener) {
      echoes.push_back({event, now});
    }
  }
  return true;
}

}  // namespace gantry::gpu
