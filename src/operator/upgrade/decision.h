// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/upgrade/state.h"

// What this folder's files share to decide about one node; other folders use state.h.
namespace gantry::gpu_operator::upgrade {

// No change yet.
Change Stay(const NodeInput& node);
Change Go(const NodeInput& node, State to, std::string reason, WallTime now);
// The same patch cordons and records who cordoned.
void Cordon(const NodeInput& node, Change& change);
// Sets an annotation (nullopt: removes it), only if it changes something.
void Mark(const NodeInput& node, Change& change, const char* key,
          const std::optional<std::string>& value);
void EraseMarks(const NodeInput& node, Change& change);

// The marks that a node lacks because NVIDIA's operator set its state. Decisions assume them, and
// any change of the node writes them too, unless it sets them itself.
Labels MarksToAdopt(const NodeInput& node, WallTime now);
NodeInput With(NodeInput node, const Labels& marks);
void AddTo(Change& change, const Labels& marks);

// Collects the decision about one node.
class Decision {
 public:
  Decision(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now);
  Step Decide();

 private:
  // schedule.cc
  void Rest();
  void AwaitTurn();
  // Why an idle node needs an upgrade; empty: it does not.
  [[nodiscard]] std::string Wanted(const DriverPod& driver) const;

  // drain.cc
  void EnterJobs(std::string reason);
  void AwaitJobs();
  void DeletePods();
  void Drain();
  void RemovePods(const policy::PodRemovalSpec& spec, std::string_view field,
                  const std::function<bool(const PodFacts&)>& concerns);
  // The next state of a node that could not be drained.
  void NotEmptied(std::string reason);
  void EvictAgain(const std::vector<const NamedPod*>& left);

  // pod_restart.cc
  void RestartDriver();
  void Validate();
  void StayFailed();
  // A driver that waits for a drained node may load now.
  void Unblock();
  // The step that began then has exceeded its limit: failed, for this reason.
  bool Overdue(WallTime began, std::chrono::seconds limit, const std::string& reason);
  bool GivenUp(const DriverPod& driver);
  // Whether a pod that should leave the driver loaded would unload it on a node in use.
  [[nodiscard]] bool EndsDriver(const DriverPod& driver) const;
  void EmptyFirst();
  // Whether the pod is older than the node's state.
  [[nodiscard]] bool IsOlder(const DriverPod& driver) const;
  // What is missing before the node counts as validated; empty: nothing.
  [[nodiscard]] std::string NotValidated() const;

  void Forward(State to, std::string reason);
  void Wait(std::string reason, State next);
  // Whether the pods that the state needs have not been seen yet, and may be.
  [[nodiscard]] bool AwaitsPods() const { return !node_.pods.has_value() && !node_.refused; }
  // The end of a step that began then.
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

// "WHAT, which is not ready: the problem of the driver's pod", or the validator's message.
std::string NotReadyYet(const DriverPod& driver, const std::string& broken, std::string_view what);
// For a pod that is not judged.
std::string WhyNotJudged(const DriverPod& driver);

}  // namespace gantry::gpu_operator::upgrade
