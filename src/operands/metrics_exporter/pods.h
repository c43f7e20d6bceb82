// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/pod_resources.h"

namespace gantry::metrics_exporter {

// Asks the kubelet which pods hold which devices, on a thread of its own, because a kubelet that is
// slow must not hold up anything else.
class PodLister {
 public:
  using Tell = std::function<void(Result<std::vector<kubelet::PodResources>>)>;
  // Each answer goes to `tell`, from that thread.
  PodLister(std::string socket, Tell tell);
  // Does not wait for a call that is under way; nothing is told after it returns.
  ~PodLister();
  PodLister(const PodLister&) = delete;
  PodLister& operator=(const PodLister&) = delete;

  // Asks soon; once more after a call that is under way.
  void Ask();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace gantry::metrics_exporter
