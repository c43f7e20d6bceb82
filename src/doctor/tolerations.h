// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "doctor/facts.h"

namespace gantry::doctor {

// The taints that keep the pod off the node, without those that the scheduler only prefers to
// avoid.
std::vector<Taint> Untolerated(const PodFacts& pod, const NodeFacts& node);

// "nvidia.com/gpu=present:NoSchedule"
std::string TaintText(const Taint& taint);
// The toleration for it, as YAML.
std::string TolerationOf(const Taint& taint);

// Taints that Kubernetes itself sets on an unhealthy or cordoned node: a toleration is no remedy.
bool IsKubernetesTaint(const Taint& taint);
// Taints that are removed when a node has started, or with the node.
bool IsPassing(const ClusterFacts& cluster, const Taint& taint);

}  // namespace gantry::doctor
