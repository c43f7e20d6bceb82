// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "operator/upgrade/pod_facts.h"
#include "policy/upgrade_policy.h"

// How pods are removed from a node, for an upgrade of its driver and for a change of its MIG
// layout.
namespace gantry::gpu_operator::upgrade {

// One pod, and not another one of its name.
struct PodRef {
  kube::Key key;
  std::string uid;
  bool operator==(const PodRef&) const = default;
};

// The evictions on the node since this process started.
struct Eviction {
  WallTime at{};
  std::string refused;  // the last refusal; empty: none
};

// A refused eviction is retried after this time.
inline constexpr std::chrono::seconds kEvictAgain(5);
// How long this process handles a node before a deadline ends anything (the entire limit if that is
// shorter): the deadline may have passed while no operator handled the node.
inline constexpr std::chrono::seconds kLeastTime(60);

// The end of a step that began then, on a node that this process has handled since `seen_since`.
WallTime DeadlineOf(WallTime began, std::chrono::seconds limit, WallTime seen_since);

// Why a pod may not be removed; empty: it may, or is being removed. `field` is that of `spec`.
std::string Forbidden(const NamedPod& pod, const policy::PodRemovalSpec& spec,
                      std::string_view field);

// "namespace/name", and whether it is being deleted.
std::string Describe(const NamedPod& pod);

// Those that are to be removed now, and when the next try is due.
struct Removal {
  std::vector<PodRef> now;
  std::optional<WallTime> next;  // nullopt: every pod is being deleted
};
// `left` are pods that may be removed.
Removal RemovalOf(const std::vector<const NamedPod*>& left, const std::optional<Eviction>& before,
                  WallTime now);

}  // namespace gantry::gpu_operator::upgrade
