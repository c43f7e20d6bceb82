// SPDX-License-Identifier: Apache-2.0

// How is a node drained before its driver is unloaded? It waits for jobs and evicts pods with GPUs;
// if that fails, the entire node is drained, if the policy allows it.

#include <algorithm>

#include "base/text.h"
#include "operator/upgrade/decision.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
void Decision::EnterJobs(std::string reason) {
  Forward(State::kWaitForJobs, std::move(reason));
  Cordon(node_, step_.change);
  if (!policy_.jobs_selector.empty() && policy_.jobs_timeout.count() > 0) {
    Mark(node_, step_.change, names::kUpgradeJobsSince, std::to_string(UnixSeconds(now_)));
  }
}

void Decision::AwaitJobs() {
  if (policy_.jobs_selector.empty()) {
    Forward(State::kPodDeletion, "there are no jobs to wait for");
    return;
  }
  if (AwaitsPods()) {
    Wait(node_.unseen, State::kPodDeletion);
    return;
  }
  std::string what = node_.unseen;
  if (node_.pods.has_value()) {
    const auto running =
        std::ranges::count_if(*node_.pods, [](const NamedPod& pod) { return !pod.facts.finished; });
    if (running == 0) {
      Forward(State::kPodDeletion, "its jobs have ended");
      return;
    }
    what = format("{} pods that match waitForCompletion.podSelector run", running);
  }
  if (policy_.jobs_timeout.count() > 0) {
    const WallTime deadline = Deadline(
        MarkedTime(node_.marks, names::kUpgradeJobsSince).value_or(Since()), policy_.jobs_timeout);
    if (now_ >= deadline) {
      Forward(State::kPodDeletion, "its jobs did not end in time: " + what);
      return;
    }
    Until(deadline);
  }
  Wait(std::move(what), State::kPodDeletion);
}

void Decision::DeletePods() {
  RemovePods(policy_.pod_deletion, "podDeletion",
             [](const PodFacts& pod) { return pod.uses_gpus && !pod.finished; });
}

void Decision::Drain() {
  if (!policy_.drain) {
    Forward(State::kPodRestart, "draining is switched off");
    return;
  }
  RemovePods(policy_.drain_spec, "drain", [](const PodFacts&) { return true; });
}

void Decision::NotEmptied(std::string reason) {
  const bool last = node_.state == State::kDrain || !policy_.drain;
  Forward(last ? State::kFailed : State::kDrain, std::move(reason));
}

void Decision::RemovePods(const policy::PodRemovalSpec& spec, std::string_view field,
                          const std::function<bool(const PodFacts&)>& concerns) {
  if (AwaitsPods()) {
    Wait(node_.unseen, State::kPodRestart);
    return;
  }
  std::vector<const NamedPod*> left;
  std::string what = node_.unseen;
  if (node_.pods.has_value()) {
    for (const NamedPod& pod : *node_.pods) {
      if (pod.facts.daemon_set.empty() && !pod.facts.mirror && concerns(pod.facts)) {
        left.push_back(&pod);
      }
    }
    if (left.empty()) {
      Forward(State::kPodRestart, "it is empty");
      return;
    }
    for (const NamedPod* pod : left) {
      if (std::string why = Forbidden(*pod, spec, field); !why.empty()) {
        NotEmptied(std::move(why));
        return;
      }
    }
    what = format("{} pods are still there, the first is {}", left.size(), Describe(*left.front()));
  }
  if (node_.eviction.has_value() && !node_.eviction->refused.empty()) {
    what += format(" ({})", node_.eviction->refused);
  }
  if (spec.timeout.count() > 0) {
    const WallTime deadline = Deadline(Since(), spec.timeout);
    if (now_ >= deadline) {
      NotEmptied(format("not empty after {} s: {}", spec.timeout.count(), what));
      return;
    }
    Until(deadline);
  }
  EvictAgain(left);
  Wait(std::move(what), State::kPodRestart);
}

void Decision::EvictAgain(const std::vector<const NamedPod*>& left) {
  Removal removal = RemovalOf(left, node_.eviction, now_);
  step_.change.evict = std::move(removal.now);
  if (removal.next.has_value()) {
    RequeueAt(*removal.next);
  }
}

}  // namespace gantry::gpu_operator::upgrade
