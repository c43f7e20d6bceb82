// SPDX-License-Identifier: Apache-2.0

// What happens to the pods and processes that hold GPUs whose MIG layout is to change? The policy
// says it, or the node's annotation. The decision is written on the Node: the MIG manager there
// keeps the GPUs withdrawn while the change waits, so that no new pod gets them and the node need
// not be cordoned, and the time runs on when another operator continues.

#include "operator/mig_holders.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "operator/some_names.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using policy::HolderAction;
using upgrade::NamedPod;

constexpr char kField[] = "gpuHolders";
constexpr char kPending[] = "pending";

WallTime WholeSeconds(WallTime time) { return std::chrono::floor<std::chrono::seconds>(time); }

const NamedPod* PodNamed(const HeldNode& node, const std::string& name) {
  const auto found =
      std::ranges::find_if(node.pods, [&](const NamedPod& pod) { return pod.key.Text() == name; });
  return found == node.pods.end() ? nullptr : &*found;
}

// Why a pod is neither evicted nor deleted; empty: it is.
std::string Kept(const NamedPod& pod, const policy::GpuHoldersSpec& spec) {
  if (!pod.facts.daemon_set.empty()) {
    return format("pod {} is of DaemonSet {}, which would make it anew", pod.key.Text(),
                  pod.facts.daemon_set);
  }
  if (pod.facts.mirror) {
    return format("pod {} is of a file on the node", pod.key.Text());
  }
  return upgrade::Forbidden(pod, spec.removal, kField);
}

// Every holder, with what keeps it.
std::string NamesOf(const HeldNode& node) {
  std::vector<std::string> names;
  for (const std::string& name : node.holders.pods) {
    const NamedPod* pod = PodNamed(node, name);
    const std::string kept = pod == nullptr ? "" : Kept(*pod, node.rule.spec);
    names.push_back(!kept.empty()    ? kept
                    : pod == nullptr ? format("pod {}", name)
                                     : format("pod {}", upgrade::Describe(*pod)));
  }
  for (const std::string& process : node.holders.processes) {
    names.push_back(format("{} outside of pods, which is never ended", process));
  }
  return SomeNames(names);
}

std::string Verb(const policy::MigHoldersStep& step, const HeldNode& node) {
  switch (step.spec.action) {
    case HolderAction::kEvict:
      return node.holders.withdrawn ? "pods are evicted" : "pods will be evicted";
    case HolderAction::kDelete:
      return node.holders.withdrawn ? "pods are deleted" : "pods will be deleted";
    default:
      return "the change waits for them";
  }
}

// What happens next, and when.
std::string NextOf(const policy::MigHoldersStep& step, const HeldNode& node) {
  constexpr std::string_view kLater = "the layout changes when the last of them has ended";
  if (step.given_up) {
    return format("given up at {} after {} s; {}", Rfc3339(step.deadline.value_or(step.since)),
                  step.spec.removal.timeout.count(), kLater);
  }
  if (step.spec.action == HolderAction::kFail) {
    return std::string(kLater);
  }
  return step.deadline.has_value() ? format("{}, and the change is given up at {}",
                                            Verb(step, node), Rfc3339(*step.deadline))
                                   : format("{}, without a time limit", Verb(step, node));
}

std::string Sentence(const policy::MigHoldersStep& step, const HeldNode& node) {
  std::string text =
      format("{}: in use since {} by {}", step.layout, Rfc3339(step.held_since), NamesOf(node));
  if (!step.refused.empty()) {
    text += format(" ({})", step.refused);
  }
  text += format("; {}", NextOf(step, node));
  if (!node.rule.mistake.empty()) {
    text += format("; {}: the policy's value counts", node.rule.mistake);
  }
  return text;
}

// What was decided before, if it still counts.
std::optional<policy::MigHoldersStep> Continued(const std::optional<policy::MigHoldersStep>& before,
                                                const policy::MigHolders& holders,
                                                const policy::GpuHoldersSpec& spec) {
  return before.has_value() && before->layout == holders.layout && before->spec == spec
             ? before
             : std::nullopt;
}

policy::MigHoldersStep StepBefore(const HeldNode& node, WallTime now) {
  if (auto before = Continued(node.before, node.holders, node.rule.spec); before.has_value()) {
    return *std::move(before);
  }
  const bool same = node.before.has_value() && node.before->layout == node.holders.layout;
  return {.layout = node.holders.layout,
          .spec = node.rule.spec,
          .held_since = same ? node.before->held_since : WholeSeconds(now),
          .since = WholeSeconds(now)};
}

void RemovePods(const HeldNode& node, WallTime now, HoldersDecision& decision) {
  // A pod in the place of one that is removed before would get its GPU.
  if (!NeedsPods(node.rule) || !node.holders.withdrawn) {
    return;
  }
  std::vector<const NamedPod*> left;
  for (const NamedPod& pod : node.pods) {
    if (!pod.facts.finished && Kept(pod, node.rule.spec).empty()) {
      left.push_back(&pod);
    }
  }
  upgrade::Removal removal = upgrade::RemovalOf(left, node.eviction, now);
  decision.remove = std::move(removal.now);
  if (removal.next.has_value()) {
    decision.requeue_at = std::min(decision.requeue_at.value_or(*removal.next), *removal.next);
  }
}

}  // namespace

HoldersRule HoldersRuleOf(const NodeFacts& node, const policy::GpuHoldersSpec& of_policy) {
  auto spec = policy::GpuHoldersOfNode(node.mig_gpu_holders, of_policy);
  return spec.has_value() ? HoldersRule{.spec = *spec, .mistake = ""}
                          : HoldersRule{.spec = of_policy, .mistake = spec.error().message};
}

std::optional<policy::MigHolders> HoldersOf(const NodeFacts& node, std::string_view published) {
  auto holders = policy::ParseMigHolders(published);
  return holders.has_value() && holders->layout == ValueIn(node.labels, names::kMigConfig)
             ? holders
             : std::nullopt;
}

std::string_view StateWithHolders(const NodeFacts& node, const policy::MigHolders& holders,
                                  const policy::GpuHoldersSpec& of_policy) {
  const policy::GpuHoldersSpec spec = HoldersRuleOf(node, of_policy).spec;
  const auto step = Continued(policy::ParseMigHoldersStep(node.mig_holders_step), holders, spec);
  const bool waits = step.has_value() ? step->waits() : spec.action != HolderAction::kFail;
  return waits ? kPending : names::kMigFailed;
}

bool NeedsPods(const HoldersRule& rule) {
  return rule.spec.action == HolderAction::kEvict || rule.spec.action == HolderAction::kDelete;
}

HoldersDecision DecideHolders(const HeldNode& node, WallTime now) {
  HoldersDecision decision;
  policy::MigHoldersStep& step = decision.step;
  step = StepBefore(node, now);
  if (step.waits()) {
    if (node.eviction.has_value()) {
      step.refused = node.eviction->refused;
    }
    const std::chrono::seconds timeout = step.spec.removal.timeout;
    if (timeout.count() > 0) {
      const WallTime deadline = upgrade::DeadlineOf(step.since, timeout, node.seen_since);
      step.given_up = now >= deadline;
      step.deadline = WholeSeconds(deadline);
      if (!step.given_up) {
        decision.requeue_at = deadline;
      }
    }
    if (!step.given_up) {
      RemovePods(node, now, decision);
    }
  }
  step.message = Sentence(step, node);
  return decision;
}

Json HeldCondition(const std::string& node, const policy::MigHoldersStep& step) {
  const bool fails = step.spec.action == HolderAction::kFail;
  Json object = kube::NewObject(kube::kinds::kNode, {"", node});
  object["status"]["conditions"] =
      Json::array({{{"type", names::kMigHeldCondition},
                    {"status", "True"},
                    {"reason", step.given_up ? "GivenUp"
                               : fails       ? "InUse"
                                             : "Waiting"},
                    {"message", step.message},
                    {"lastTransitionTime", Rfc3339(step.held_since)}}});
  return object;
}

}  // namespace gantry::gpu_operator
