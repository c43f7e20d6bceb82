// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "operator/mig_holders.h"
#include "operator/view.h"

namespace gantry::gpu_operator {

// Carries out what mig_holders decides about the holders of GPUs whose MIG layout is to change.
class MigDrainer {
 public:
  // `wake` requests a Reconcile of a node; it is called from any thread and must not block.
  MigDrainer(kube::Client& client, View& view, kube::EventRecorder& events,
             std::function<void(const std::string& node)> wake, const Clock& clock = RealClock());

  // The policy's value; nullopt: Gantry's MIG manager does not run, and earlier decisions are
  // removed from the Nodes. Reconcile does nothing until the first call. Thread-safe.
  void SetRule(const std::optional<policy::GpuHoldersSpec>& of_policy);
  // Blocks for its requests; one thread.
  kube::Outcome Reconcile(const std::string& node);

 private:
  // Since this process has handled the holders of a layout.
  struct Progress {
    std::string layout = {};
    WallTime since{};
    std::optional<upgrade::Eviction> eviction = {};
    // The pods that hold the GPUs, with their uids. A pod that is made anew under the name of one
    // cannot: the GPUs are withdrawn.
    std::map<std::string, std::string> uids = {};
    std::string condition = {};  // the message that the Node's condition has
    bool evicting = false;       // an event says so
  };
  kube::Outcome End(const std::string& node, const NodeFacts& facts);
  void TellMistake(const std::string& node, const std::string& mistake);
  Status ShowPods(const std::string& name, Progress& progress, HeldNode& node);
  Status Write(const std::string& node, const NodeFacts& facts, const policy::MigHoldersStep& step,
               Progress& progress);
  void Remove(const std::string& node, const HoldersDecision& decision, Progress& progress);

  kube::Client& client_;
  View& view_;
  kube::EventRecorder& events_;
  const std::function<void(const std::string&)> wake_;
  const Clock& clock_;
  // By node; lost with the process.
  std::map<std::string, Progress> progress_;
  std::map<std::string, std::string> mistakes_;  // those of which an event tells
  std::mutex mutex_;
  bool known_ = false;
  std::optional<policy::GpuHoldersSpec> of_policy_;
};

}  // namespace gantry::gpu_operator
