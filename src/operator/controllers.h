// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "kube/client.h"
#include "kube/controller.h"
#include "kube/events.h"
#include "operator/mig_drainer.h"
#include "operator/node_labeller.h"
#include "operator/reconcile.h"
#include "operator/settings.h"
#include "operator/upgrade/actor.h"
#include "operator/view.h"

namespace gantry::gpu_operator {

// After a pass that failed.
inline constexpr kube::Backoff kControllerBackoff{.base = std::chrono::milliseconds(100),
                                                  .limit = std::chrono::seconds(30)};

// A controller of one key, the entire cluster. Changes come in groups: the first of many is handled
// at once, and the next ones together.
class ClusterController {
 public:
  // Passes are at least `pace` apart. `reconcile` is one pass; one thread runs it.
  ClusterController(const std::string& name, std::chrono::milliseconds pace,
                    std::function<kube::Outcome()> reconcile);
  // Something changed. From any thread; does not block.
  void Trigger();
  // The same, without waiting for more changes.
  void TriggerNow();
  [[nodiscard]] kube::Controller& controller() { return controller_; }

 private:
  const std::chrono::milliseconds pace_;
  std::atomic<SteadyTime> settled_{SteadyTime{}};  // when the last pass ended
  kube::Controller controller_;
};

// The view, the reconcilers, and the controllers between them. A new controller gets a line below,
// one in all(), and its triggers in the constructor.
class Controllers {
 public:
  // The client and the settings outlive it; `identity` names this process in events.
  Controllers(kube::Client& client, const Settings& settings, const std::string& identity);
  ~Controllers() { Stop(); }
  Controllers(const Controllers&) = delete;
  Controllers& operator=(const Controllers&) = delete;

  // Returns at once. No controller decides before everything was seen.
  void Start();
  // Blocks until running passes have ended.
  void Stop();
  // For /metrics.
  [[nodiscard]] std::string FormatMetrics();

 private:
  static constexpr std::chrono::milliseconds kClusterPace{250};
  static constexpr std::chrono::milliseconds kUpgradesPace{100};
  // An API server handles several at once; more would only wait there.
  static constexpr int kNodeWorkers = 4;
  [[nodiscard]] std::array<kube::Controller*, 4> all() {
    return {&cluster_.controller(), &nodes_, &upgrades_.controller(), &mig_holders_};
  }

  kube::EventRecorder events_;
  // Declared before the view, whose watches fill their queues until they end.
  ClusterController cluster_{"clusterpolicy", kClusterPace,
                             [this] { return reconciler_.Reconcile(); }};
  kube::Controller nodes_{"node-labels",
                          [this](const std::string& node) { return labeller_.Reconcile(node); },
                          kNodeWorkers, kControllerBackoff};
  ClusterController upgrades_{"driver-upgrades", kUpgradesPace,
                              [this] { return actor_.Reconcile(); }};
  kube::Controller mig_holders_{
      "mig-holders", [this](const std::string& node) { return drainer_.Reconcile(node); }, 1,
      kControllerBackoff};
  View view_;
  upgrade::Actor actor_;
  MigDrainer drainer_;
  NodeLabeller labeller_;
  Reconciler reconciler_;
  std::jthread starter_;
};

}  // namespace gantry::gpu_operator
