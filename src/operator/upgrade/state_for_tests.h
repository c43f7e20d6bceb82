// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <utility>

#include "base/text.h"
#include "operator/upgrade/state.h"
#include "policy/names.h"

// Nodes in the states of an upgrade, and their next states.
namespace gantry::gpu_operator::upgrade {

inline constexpr long long kUpgradeStart = 1'700'000'000;
inline const WallTime kUpgradeNow{std::chrono::seconds(kUpgradeStart)};

inline DriverPod DriverPodThat(bool outdated, bool ready = true) {
  DriverPod driver;
  driver.key = {"ns", "driver"};
  driver.facts.uid = "u";
  driver.facts.created = Rfc3339(kUpgradeNow);
  driver.facts.ready = ready;
  driver.judged = true;
  driver.outdated = outdated;
  return driver;
}

inline NodeInput NodeIn(State state, bool outdated = false, bool ready = true) {
  NodeInput node;
  node.name = "n";
  node.state = state;
  node.driver = DriverPodThat(outdated, ready);
  if (InProgress(state) || state == State::kRequired) {
    node.marks[names::kUpgradeStep] = FormatRecord({state, kUpgradeNow, ""});
  }
  if (InProgress(state) && state != State::kCordon) {
    node.cordoned = true;
    node.marks[names::kUpgradeCordon] = "true";
  }
  return node;
}

// As left by NVIDIA's operator.
inline NodeInput TheirNodeIn(State state, bool cordoned) {
  NodeInput node = NodeIn(state, true);
  node.marks.clear();
  node.cordoned = cordoned;
  return node;
}

// The node after that change is written.
inline NodeInput NodeAfter(NodeInput node, const Change& change) {
  node.state = change.to;
  for (const auto& [key, value] : change.annotations) {
    node.marks.erase(key);
    if (value.has_value()) {
      node.marks[key] = *value;
    }
  }
  if (change.cordon != Change::Cordon::kLeave) {
    node.cordoned = change.cordon == Change::Cordon::kCordon;
  }
  return node;
}

inline NamedPod UserPod(const char* name, PodFacts facts = {}) {
  return {{"users", name}, std::move(facts)};
}

inline PodFacts GpuPod() { return {.uid = "g", .managed = true, .uses_gpus = true}; }

inline Step NextStep(const NodeInput& node, const policy::UpgradePolicy& policy = {},
                     std::chrono::seconds after = {}) {
  return Advance(node, policy, kUpgradeNow + after);
}

inline State NextState(const NodeInput& node, const policy::UpgradePolicy& policy = {},
                       std::chrono::seconds after = {}) {
  return NextStep(node, policy, after).change.to;
}

}  // namespace gantry::gpu_operator::upgrade
