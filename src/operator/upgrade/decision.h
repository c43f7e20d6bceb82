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

// The marks that a node lacks which NVIDIA's operator has brought into its state; it goes on as if
// it had them, and any change of it writes them too, unless it says otherwise.
Labels MarksToAdopt(const NodeInput& node, WallTime now);
NodeInput With(NodeInput node, const Labels& marks);
void AddTo(Change& change, const Labels& marks);

// Collects what is decided about one node.
class Decision {
 public:
  Decision(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now);
  Step Decide();

 private:
  // schedule.cc
  void Rest();
  void AwaitTurn();
  // Why a node at rest needs an upgrade; empty: it does not.
  [[nodiscard]] std::string Wanted(const DriverPod& driver) const;

  // drain.cc
  void EnterJobs(std::string reason);
  void AwaitJobs();
  void DeletePods();
  void Drain();
  void Empty(const policy::EmptyingSpec& spec, std::string_view field,
             const std::function<bool(const PodFacts&)>& concerns);
  // Where the node goes that could not be emptied.
  void NotEmptied(std::string reason);
  void EvictAgain(const std::vector<const NamedPod*>& left);

  // pod_restart.cc
  void RestartDriver();
  void Validate();
  void StayFailed();
  // A driver that waits for an empty node may load now.
  void Unblock();
  // What began then has not ended within the limit: failed, for this reason.
  bool Overdue(WallTime began, std::chrono::seconds limit, const std::string& reason);
  bool GivenUp(const DriverPod& driver);
  // Whether a pod that was to leave the driver loaded, and found its node in use, does not.
  [[nodiscard]] bool EndsDriver(const DriverPod& driver) const;
  void EmptyFirst();
  // Whether the pod was there before the node came to its state.
  [[nodiscard]] bool IsOlder(const DriverPod& driver) const;
  // What is missing until the node counts as validated; empty: nothing.
  [[nodiscard]] std::string NotValidated() const;

  void Forward(State to, std::string reason);
  void Wait(std::string reason, State next);
  // Whether the pods that the state asks for were not seen yet, and may be.
  [[nodiscard]] bool AwaitsPods() const { return !node_.pods.has_value() && !node_.refused; }
  // When that ends which began then.
  [[nodiscard]] WallTime Deadline(WallTime began, std::chrono::seconds limit) const;
  // Time alone ends it then.
  void Until(WallTime deadline);
  void RequeueAt(WallTime at);
  void End(State to, std::string reason);
  [[nodiscard]] WallTime Since() const;

  const NodeInput& node_;
  const policy::UpgradePolicy& policy_;
  const WallTime now_;
  const std::optional<Record> record_;
  Step step_;
};

// "WHAT, which is not ready: the trouble of the driver's pod", or what the validator finds broken.
std::string NotReadyYet(const DriverPod& driver, const std::string& broken, std::string_view what);
// Of a pod that is not judged.
std::string WhyNotJudged(const DriverPod& driver);

}  // namespace gantry::gpu_operator::upgrade
