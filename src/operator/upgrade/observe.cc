// SPDX-License-Identifier: Apache-2.0

// What is known of a node's driver? From the Node, the driver's pod on it and the revisions of the
// pod's DaemonSet. A pod is outdated if the newest revision would make another one; but the newest
// is known only after the DaemonSet's controller has reconciled the present template. A pod without
// a DaemonSet was left behind, and keeps a new one off the node: it is outdated as soon as a
// DaemonSet would make one, and until then it is the node's only driver.

#include "operator/upgrade/observe.h"

#include <algorithm>

#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

const std::string kDeployDriver = std::string(names::kDeployPrefix) + "driver";

// While one pod ends and the next one starts there are two: the new one counts.
bool CountsMore(const NamedPod& pod, const NamedPod& than) {
  if (pod.facts.deleting != than.facts.deleting) {
    return than.facts.deleting;
  }
  return pod.key < than.key;
}

// Whether the revision's pods may run on the node, by the kept labels.
bool AsksFor(const RevisionFacts& revision, const NodeFacts& node) {
  bool all = true;
  ForEachLabel(revision.nodes, [&](std::string_view key, std::string_view value) {
    all = all && ValueIn(node.labels, key) == value;
  });
  return all;
}

}  // namespace

Observer::Observer(const DriverSnapshot& snapshot) : snapshot_(snapshot) {
  for (const RevisionFacts& revision : snapshot.revisions) {
    // The revisions of a deleted DaemonSet live as long as its pods.
    if (!snapshot.daemon_sets.contains(revision.daemon_set)) {
      continue;
    }
    const RevisionFacts*& newest = current_[revision.daemon_set];
    if (newest == nullptr || newest->number < revision.number) {
      newest = &revision;
    }
  }
  for (const NamedPod& pod : snapshot.drivers) {
    const NamedPod*& chosen = drivers_[pod.facts.node];
    if (!pod.facts.node.empty() && (chosen == nullptr || CountsMore(pod, *chosen))) {
      chosen = &pod;
    }
  }
}

DriverPod Observer::Judge(const NamedPod& pod, const NodeFacts& node) const {
  DriverPod driver{.key = pod.key, .facts = pod.facts};
  if (pod.facts.daemon_set.empty()) {
    driver.judged = !pod.facts.managed && std::ranges::any_of(current_, [&](const auto& revision) {
      return AsksFor(*revision.second, node);
    });
    driver.outdated = driver.judged;
    return driver;
  }
  const auto set = snapshot_.daemon_sets.find(pod.facts.daemon_set);
  const auto current = current_.find(pod.facts.daemon_set);
  if (set == snapshot_.daemon_sets.end() || current == current_.end() ||
      set->second.observed_generation < set->second.generation) {
    return driver;
  }
  driver.judged = true;
  driver.outdated = !IsMadeBy(*current->second, pod);
  driver.same_driver = !pod.facts.digest.empty() && pod.facts.digest == current->second->digest;
  return driver;
}

bool Observer::IsMadeBy(const RevisionFacts& revision, const NamedPod& pod) const {
  return pod.facts.revision == revision.hash ||
         std::ranges::any_of(snapshot_.revisions, [&](const RevisionFacts& other) {
           return other.daemon_set == revision.daemon_set && other.hash == pod.facts.revision &&
                  other.pods != 0 && other.pods == revision.pods;
         });
}

NodeInput Observer::Observe(const std::string& name, const NodeFacts& facts) const {
  NodeInput node;
  node.name = name;
  node.owner = ValueIn(facts.labels, names::kDriverOwner);
  node.state = StateNamed(ValueIn(facts.labels, names::kDriverUpgradeState));
  node.skip = ValueIn(facts.labels, names::kDriverUpgradeSkip) == "true";
  node.wanted = ValueIn(facts.labels, kDeployDriver) == "true";
  node.ready = facts.ready;
  node.cordoned = facts.cordoned;
  node.marks = UnpackLabels(facts.upgrade);
  if (const auto pod = drivers_.find(name); pod != drivers_.end() && pod->second != nullptr) {
    node.driver = Judge(*pod->second, facts);
  }
  if (const std::string_view word = ValueIn(facts.labels, names::kGpuValidation);
      word != names::kValidationReady && ValueIn(facts.labels, names::kDeployValidator) == "true") {
    node.broken = word;
  }
  return node;
}

bool HasTraces(const NodeFacts& facts) {
  return !facts.upgrade.empty() ||
         facts.labels.find(std::string(names::kDriverUpgradeState) + "=") != std::string::npos;
}

}  // namespace gantry::gpu_operator::upgrade
