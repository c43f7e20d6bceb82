// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "operands/metrics_exporter/cluster_watch.h"
#include "operands/metrics_exporter/pod_holders.h"
#include "policy/names.h"

namespace gantry::metrics_exporter {

// Keeps up with which pods hold which devices, on a thread of its own, because a kubelet that is
// slow must not hold up anything else. The kubelet has no watch for it: it is asked when its
// folders of devices and pods change, and once in a while.
class PodFollower {
 public:
  struct Options {
    std::string socket;           // the kubelet's; empty: it is not asked
    std::string host_root = "/";  // the folder that holds the node's var/ and sys/
    // The kubelet's folder on the host; its folders are looked for there, then here.
    std::string kubelet_root = names::kKubeletRoot;
    std::string jobs = {};                              // the folder of jobs; empty: none
    std::chrono::milliseconds interval;                 // between two looks at cgroups
    bool looks_at_cgroups = false;                      // for pods that end
    std::optional<ClusterWatch::Options> cluster = {};  // what the API server is asked for
    std::function<void(PodsSeen)> tell;                 // what changed, from that thread
  };
  explicit PodFollower(Options options);
  // Does not wait for a call that is under way; nothing is told after it returns.
  ~PodFollower();
  PodFollower(const PodFollower&) = delete;
  PodFollower& operator=(const PodFollower&) = delete;

 private:
  class State;
  std::shared_ptr<State> state_;
  std::unique_ptr<ClusterWatch> cluster_;
};

}  // namespace gantry::metrics_exporter
