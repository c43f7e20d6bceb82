// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "base/clock.h"
#include "nvml/nvml.h"

namespace gantry::gpu {

// Which of two listeners tells an event that both get? While one takes over from another, NVML
// gives each event to both. The first one that has it tells it.
class EventRelay {
 public:
  // How much later the other listener may get the same event.
  static constexpr std::chrono::seconds kEcho{2};

  // From now on this listener gets events.
  void Listen(int listener) { echoes_[listener]; }
  void End(int listener) { echoes_.erase(listener); }

  // Whether the event is to be told. `event`: what this listener has just got.
  bool IsNew(int listener, const nvml::EventSet::Event& event, SteadyTime now);

 private:
  struct Echo {
    nvml::EventSet::Event event;
    SteadyTime told_at;
  };
  // What others have told, and a listener has yet to get.
  std::map<int, std::vector<Echo>> echoes_;
};

}  // namespace gantry::gpu
