// SPDX-License-Identifier: Apache-2.0

// Which controllers does the operator have, and what triggers each?

#include "operator/controllers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr char kClusterKey[] = "cluster";
constexpr std::chrono::milliseconds kSettle(20);

}  // namespace

ClusterController::ClusterController(const std::string& name, std::chrono::milliseconds pace,
                                     std::function<kube::Outcome()> reconcile)
    : pace_(pace),
      controller_(
          name,
          [this, reconcile = std::move(reconcile)](const std::string&) {
            kube::Outcome outcome = reconcile();
            settled_ = RealClock().Now();
            return outcome;
          },
          1, kControllerBackoff) {}

void ClusterController::Trigger() {
  const auto since = RealClock().Now() - settled_.load();
  controller_.EnqueueAfter(
      kClusterKey, std::max(kSettle, std::chrono::ceil<std::chrono::milliseconds>(pace_ - since)));
}

void ClusterController::TriggerNow() { controller_.Enqueue(kClusterKey); }

Controllers::Controllers(kube::Client& client, const Settings& settings,
                         const std::string& identity)
    : events_(client, names::kEventSource, identity),
      view_(client, settings.ns, settings.master, settings.definitions,
            {.cluster =
                 [this] {
                   cluster_.Trigger();
                   upgrades_.Trigger();
                 },
             .node =
                 [this](const std::string& node) {
                   nodes_.Enqueue(node);
                   mig_holders_.Enqueue(node);
                 }}),
      actor_(
          client, view_, events_, settings.ns, [this] { upgrades_.Trigger(); },
          [this] { cluster_.Trigger(); }),
      drainer_(client, view_, events_,
               [this](const std::string& node) { mig_holders_.Enqueue(node); }),
      labeller_(
          client, view_, events_, settings,
          [this](const std::string& node) { nodes_.Enqueue(node); },
          [this] { cluster_.TriggerNow(); }, RealClock()),
      reconciler_(client, view_, events_, actor_, drainer_, labeller_, settings) {}

void Controllers::Start() {
  view_.Start();
  starter_ = std::jthread([this](const std::stop_token& stop) {
    if (view_.WaitSynced(stop)) {
      log::Info("everything was seen once: reconciling");
      for (kube::Controller* controller : all()) {
        controller->Start();
      }
    }
  });
}

void Controllers::Stop() {
  starter_ = {};
  for (kube::Controller* controller : all()) {
    controller->Stop();
  }
}

std::string Controllers::FormatMetrics() {
  std::vector<kube::ControllerMetrics> metrics;
  for (const kube::Controller* controller : all()) {
    metrics.push_back(controller->metrics());
  }
  return gpu_operator::FormatMetrics(reconciler_.metrics()) + kube::FormatMetrics(metrics);
}

}  // namespace gantry::gpu_operator
