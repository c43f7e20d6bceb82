// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "doctor/facts.h"
#include "kube/object.h"

namespace gantry::doctor {

struct Told {
  std::string message;
  std::string last_seen;  // RFC 3339
};

// The object of an event, by kind and key.
struct Involved {
  std::string kind;
  kube::Key key;
  auto operator<=>(const Involved&) const = default;
};

// Whether a warning about an object that the doctor cannot read is recent enough to count.
bool IsFresh(const Told& told, WallTime now);

// The newest warning among a cluster's events for each object. An event may be an hour old: only
// its object shows whether it still holds.
class Warnings {
 public:
  // `in_operators_namespace`: its object is in the operator's namespace.
  void Take(const Json& event, bool in_operators_namespace);

  // Sets the warnings about the node: the validator's reason, and why it offers fewer GPUs.
  void Explain(NodeFacts& node) const;
  // Sets what the status of an operand's container lacks: before Kubernetes 1.32 why an image is
  // not pulled, and why a pod has no sandbox or volumes.
  void Explain(const Json& pod, ContainerFacts& container, WallTime now) const;

  [[nodiscard]] const std::map<Involved, Told>& refused() const { return refused_; }
  [[nodiscard]] const std::map<kube::Key, Told>& unstarted() const { return unstarted_; }
  [[nodiscard]] const std::set<kube::Key>& restarting() const { return restarting_; }

 private:
  std::map<std::pair<std::string, std::string>, Told> of_nodes_;  // node and reason
  std::map<Involved, Told> refused_;
  std::map<kube::Key, Told> unstarted_;
  std::set<kube::Key> restarting_;
  // In the operator's namespace.
  std::map<kube::Key, Told> pulls_;
  std::map<kube::Key, Told> mounts_;
  std::map<kube::Key, Told> secrets_;
};

}  // namespace gantry::doctor
