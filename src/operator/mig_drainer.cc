// SPDX-License-Identifier: Apache-2.0

// How are the GPUs of a node freed for a change of its MIG layout? The decision is written on the
// Node first, with a condition and an event; then pods are evicted or deleted.

#include "operator/mig_drainer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "operator/ignore_absent.h"
#include "operator/strip.h"
#include "operator/upgrade/remove_pods.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr char kHeld[] = "MigConfigHeld";
constexpr char kGivenUp[] = "MigConfigGivenUp";
constexpr char kRemoving[] = "MigConfigRemovesPods";
constexpr char kMistake[] = "MigGpuHoldersInvalid";

// As in the kubelet's events: `kubectl describe node` shows these too.
Json EventsNode(const std::string& name) {
  Json about = kube::NewObject(kube::kinds::kNode, {"", name});
  about["metadata"]["uid"] = name;
  return about;
}

Json StepPatch(const std::string& value) {
  return {{"metadata",
           {{"annotations", {{names::kMigHoldersStep, value.empty() ? Json() : Json(value)}}}}}};
}

}  // namespace

MigDrainer::MigDrainer(kube::Client& client, View& view, kube::EventRecorder& events,
                       std::function<void(const std::string&)> wake, const Clock& clock)
    : client_(client), view_(view), events_(events), wake_(std::move(wake)), clock_(clock) {}

void MigDrainer::SetRule(const std::optional<policy::GpuHoldersSpec>& of_policy) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(known_, true) && of_policy_ == of_policy) {
      return;
    }
    of_policy_ = of_policy;
  }
  std::ranges::for_each(view_.NodeNames(), wake_);
}

kube::Outcome MigDrainer::Reconcile(const std::string& name) {
  std::optional<policy::GpuHoldersSpec> of_policy;
  {
    const std::lock_guard lock(mutex_);
    if (!known_) {
      return kube::Done{};
    }
    of_policy = of_policy_;
  }
  const auto facts = view_.Node(name);
  if (facts == nullptr) {
    progress_.erase(name);
    mistakes_.erase(name);
    return kube::Done{};
  }
  HeldNode node;
  node.rule = HoldersRuleOf(*facts, of_policy.value_or(policy::GpuHoldersSpec()));
  TellMistake(name, of_policy.has_value() ? node.rule.mistake : "");
  auto holders = of_policy.has_value() ? HoldersOf(*facts, view_.MigHoldersOf(name)) : std::nullopt;
  if (!holders.has_value()) {
    return End(name, *facts);
  }
  node.holders = *std::move(holders);
  node.before = policy::ParseMigHoldersStep(facts->mig_holders_step);
  const WallTime now = clock_.Wall();
  Progress& progress = progress_[name];
  if (progress.layout != node.holders.layout) {
    progress = {.layout = node.holders.layout, .since = now};
  }
  node.seen_since = progress.since;
  node.eviction = progress.eviction;
  if (NeedsPods(node.rule)) {
    if (Status shown = ShowPods(name, progress, node); !shown.has_value()) {
      return std::move(shown).error();
    }
  }
  const HoldersDecision decision = DecideHolders(node, now);
  if (Status wrote = Write(name, *facts, decision.step, progress); !wrote.has_value()) {
    return std::move(wrote).error();
  }
  if (!decision.remove.empty()) {
    Remove(name, decision, progress);
    if (progress.eviction.has_value() && !progress.eviction->refused.empty()) {
      return kube::RetryAfter{};  // to be written
    }
  }
  if (decision.requeue_at.has_value()) {
    return kube::RetryAfter{
        std::chrono::ceil<std::chrono::milliseconds>(std::max(*decision.requeue_at, now) - now)};
  }
  return kube::Done{};
}

// The condition is removed first: a Node with the annotation may have it.
kube::Outcome MigDrainer::End(const std::string& name, const NodeFacts& facts) {
  progress_.erase(name);
  if (facts.mig_holders_step.empty()) {
    return kube::Done{};
  }
  const kube::Key key{"", name};
  const auto end = [&]() -> Status {
    TRY_ASSIGN(const Json node, client_.Get(kube::kinds::kNode, key));
    constexpr std::array kTypes = {std::string_view(names::kMigHeldCondition)};
    if (const Json patch = StripConditions(node, kTypes); !patch.is_null()) {
      TRY(client_.JsonPatch(kube::kinds::kNode, key, patch, kube::Part::kStatus));
    }
    TRY_ASSIGN(const Json after, client_.MergePatch(kube::kinds::kNode, key, StepPatch("")));
    view_.WroteNode(after);
    return {};
  };
  if (Status ended = IgnoreAbsent(end()); !ended.has_value()) {
    return std::move(ended).error();
  }
  log::Info("node {}: no pod or process holds up its MIG layout any more", name);
  return kube::Done{};
}

void MigDrainer::TellMistake(const std::string& name, const std::string& mistake) {
  std::string& told = mistakes_[name];
  if (std::exchange(told, mistake) != mistake && !mistake.empty()) {
    events_.Warning(EventsNode(name), kMistake,
                    format("{}: migManager.gpuHolders of the policy counts", mistake));
  }
  if (told.empty()) {
    mistakes_.erase(name);
  }
}

Status MigDrainer::ShowPods(const std::string& name, Progress& progress, HeldNode& node) {
  std::map<std::string, std::string> uids;
  TRY(client_.List(kube::kinds::kPod, {.fields = "spec.nodeName=" + name}, [&](const Json& object) {
    upgrade::NamedPod pod{kube::KeyOf(object), upgrade::ProjectPod(object)};
    const std::string text = pod.key.Text();
    if (std::ranges::find(node.holders.pods, text) == node.holders.pods.end()) {
      return;
    }
    const auto known = progress.uids.find(text);
    const std::string uid = known == progress.uids.end() ? pod.facts.uid : known->second;
    uids[text] = uid;
    if (uid == pod.facts.uid) {
      node.pods.push_back(std::move(pod));
    }
  }));
  // One that is gone may come again under its name while the MIG manager's list still has it.
  for (const std::string& pod : node.holders.pods) {
    if (const auto known = progress.uids.find(pod); known != progress.uids.end()) {
      uids.insert(*known);
    }
  }
  progress.uids = std::move(uids);
  return {};
}

Status MigDrainer::Write(const std::string& name, const NodeFacts& facts,
                         const policy::MigHoldersStep& step, Progress& progress) {
  if (const std::string text = policy::FormatMigHoldersStep(step); text != facts.mig_holders_step) {
    TRY_ASSIGN(const Json after,
               client_.MergePatch(kube::kinds::kNode, {"", name}, StepPatch(text)));
    view_.WroteNode(after);
    log::Info("node {}: {}", name, step.message);
    events_.Warning(EventsNode(name), step.given_up ? kGivenUp : kHeld, step.message);
  }
  // An equal one is not written again by the API server.
  if (progress.condition != step.message) {
    TRY(client_.Apply(kube::kinds::kNode, HeldCondition(name, step), kube::Force::kYes,
                      kube::Part::kStatus));
    progress.condition = step.message;
  }
  return {};
}

void MigDrainer::Remove(const std::string& name, const HoldersDecision& decision,
                        Progress& progress) {
  const bool evicts = decision.step.spec.action == policy::HolderAction::kEvict;
  progress.eviction = upgrade::Remove(
      client_, decision.remove,
      evicts ? upgrade::RemoveBy::kEviction : upgrade::RemoveBy::kDeletion, clock_.Wall());
  if (!std::exchange(progress.evicting, true)) {
    events_.Normal(EventsNode(name), kRemoving,
                   format("{} {} pods for the MIG layout {}, the first is {}",
                          evicts ? "evicting" : "deleting", decision.remove.size(),
                          decision.step.layout, decision.remove.front().key.Text()));
  }
}

}  // namespace gantry::gpu_operator
