// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/upgrade/state.h"

// How this folder's files share the decision about one node; others use state.h.
namespace gantry::gpu_operator::upgrade {

// No change yet.
Change Stay(const NodeInput& node);
Change Go(const NodeInput& node, State to, std::string reason, WallTime now);
// The same patch cordons and says who did.
void Cordon(const NodeInput& node, Change& change);
// Sets an annotation (nullopt: takes it away), only if it makes a difference.
void Mark(const NodeInput& node, Change& change, const char* key,
          const std::optional<std::string>& value);
void EraseMarks(const NodeInput& node, Change& change);

// Collects what is decided about one node.
class Decision {
 public:
  Decision(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now);
  Step Decide();

 private:
  // turn.cc
  void Rest();
  void AwaitTurn();
  // Why a node at rest needs an upgrade; empty: it does not.
  [[nodiscard]] std::string Wanted(const DriverPod& driver) const;

  // emptying.cc
  void EnterJobs();
  void AwaitJobs();
  void DeletePods();
  void Drain();
  void Empty(const policy::EmptyingSpec& spec, std::string_view field,
             const std::function<bool(const PodFacts&)>& concerns);
  // Where the node goes that could not be emptied.
  void NotEmptied(std::string reason);
  void EvictAgain(const std::vector<const NamedPod*>& left);

  // exchange.cc
  void RestartDriver();
  void Validate();
  void StayFailed();
  // A driver that waits for an empty node may load now.
  void Unblock();
  // The state's time is over: failed, for this reason.
  bool Overdue(WallTime deadline, std::chrono::seconds limit, const std::string& reason);
  bool GivenUp(const DriverPod& driver);
  // What is missing until the node counts as validated; empty: nothing.
  [[nodiscard]] std::string NotValidated() const;

  void Forward(State to, std::string reason);
  void Wait(std::string reason, State next);
  // Time alone ends it then.
  void Until(WallTime deadline);
  void LookAgain(WallTime at);
  void End(State to, std::string reason);
  [[nodiscard]] WallTime Since() const;

  const NodeInput& node_;
  const policy::UpgradePolicy& policy_;
  const WallTime now_;
  const std::optional<Record> record_;
  Step step_;
};

// "WHAT, which is not ready: the trouble of the driver's pod".
std::string NotReadyYet(const DriverPod& driver, std::string_view what);

}  // namespace gantry::gpu_operator::upgrade
