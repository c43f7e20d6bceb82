// SPDX-License-Identifier: Apache-2.0

// Which fields of a DaemonSet matter?

#include "operator/daemon_set_facts.h"

#include "policy/names.h"

namespace gantry::gpu_operator {

DaemonSetFacts ProjectDaemonSet(const Json& daemon_set) {
  DaemonSetFacts facts;
  const auto number = [&](const char* path) {
    return static_cast<int>(IntAt(daemon_set, path, 0));
  };
  facts.generation = IntAt(daemon_set, "metadata.generation", 0);
  facts.observed_generation = IntAt(daemon_set, "status.observedGeneration", -1);
  facts.desired = number("status.desiredNumberScheduled");
  facts.updated = number("status.updatedNumberScheduled");
  facts.available = number("status.numberAvailable");
  facts.unavailable = number("status.numberUnavailable");
  facts.current = number("status.currentNumberScheduled");
  facts.on_delete = TextAt(daemon_set, "spec.updateStrategy.type") == "OnDelete";
  if (At(daemon_set, {"metadata", "annotations", names::kNarrowed}) != nullptr) {
    facts.updated = facts.desired;
  }
  return facts;
}

}  // namespace gantry::gpu_operator
