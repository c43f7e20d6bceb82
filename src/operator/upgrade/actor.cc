// SPDX-License-Identifier: Apache-2.0

// How does an upgrade come to the cluster? Every look works the whole plan out anew. A Node is
// written only if it is still as it was when that was decided, and before a node starts, those in
// progress are read from the API server itself: a watch that lags must not cost a second node.

#include "operator/upgrade/actor.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

constexpr char kReason[] = "GPUDriverUpgrade";

PodQuery DriverQuery(const std::string& space) { return {.space = space, .labels = kDriverPods}; }

// The nodes that take part of the budget, as a label selector.
std::string InProgressSelector() {
  std::vector<std::string> states;
  for (int i = 0; i <= static_cast<int>(State::kFailed); ++i) {
    if (const auto state = static_cast<State>(i); InProgress(state)) {
      states.emplace_back(NameOf(state));
    }
  }
  return format("{} in ({})", names::kDriverUpgradeState, Join(states, ","));
}

bool SameNode(const NodeInput& left, const NodeInput& right) {
  return left.state == right.state && left.cordoned == right.cordoned && left.marks == right.marks;
}

std::string Sentence(const Change& change) {
  const std::string_view to = change.to == State::kUnknown ? "none" : NameOf(change.to);
  return format("driver upgrade: {} -> {}: {}",
                change.from == State::kUnknown ? "none" : NameOf(change.from), to, change.reason);
}

Status IgnoreGone(Status status) {
  const bool gone = !status.has_value() && (status.error().kind == ErrorKind::kNotFound ||
                                            status.error().kind == ErrorKind::kConflict);
  return gone ? Status{} : status;
}

}  // namespace

Actor::Actor(kube::Client& client, View& view, kube::EventRecorder& events, std::string space,
             std::function<void()> wake, std::function<void()> told, const Clock& clock)
    : client_(client),
      view_(view),
      events_(events),
      space_(std::move(space)),
      wake_(std::move(wake)),
      say_(std::move(told)),
      clock_(clock),
      watches_(client, space_, wake_) {}

void Actor::Follow(const Policies& policies) {
  {
    const std::lock_guard lock(mutex_);
    if (policies_ == policies) {
      return;
    }
    policies_ = policies;
  }
  wake_();
}

Told Actor::told() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

void Actor::Tell(Told told) {
  {
    const std::lock_guard lock(mutex_);
    if (told_ == told) {
      return;
    }
    told_ = std::move(told);
  }
  say_();
}

kube::Outcome Actor::Look() {
  std::optional<Policies> policies;
  {
    const std::lock_guard lock(mutex_);
    policies = policies_;
  }
  if (!policies.has_value()) {
    return kube::Done{};
  }
  if (!policies->empty()) {
    return RollOn(*policies);
  }
  watches_.Use({});
  evictions_.clear();
  Tell({});
  Status status = AbandonAll();
  return status.has_value() ? kube::Outcome(kube::Done{}) : std::move(status).error();
}

Status Actor::AbandonAll() {
  Status first;
  const Sight nothing;
  const Observer observer(nothing);
  for (const auto& [name, facts] : view_.Nodes()) {
    if (!HasTraces(*facts)) {
      continue;
    }
    const NodeInput node = observer.Observe(name, *facts);
    if (Status carried = Carry(node, Abandon(node)); !carried.has_value() && first.has_value()) {
      first = std::move(carried);
    }
  }
  return first;
}

Result<std::optional<Sight>> Actor::See() {
  watches_.Add(DriverQuery(space_));
  Watches::Pods drivers = watches_.Look(DriverQuery(space_));
  if (!drivers.seen && !drivers.failure.empty()) {
    return Fail(ErrorKind::kUnavailable, drivers.failure);
  }
  if (!drivers.seen || !watches_.revisions_seen()) {
    return std::nullopt;
  }
  return Sight{std::move(drivers.pods), watches_.Revisions(), view_.DaemonSets()};
}

kube::Outcome Actor::RollOn(const Policies& policies) {
  auto seen = See();
  if (!seen.has_value()) {
    return std::move(seen).error();
  }
  const std::optional<Sight> sight = *std::move(seen);
  if (!sight.has_value()) {
    return kube::Done{};  // the watches wake this again
  }
  const Observer observer(*sight);
  std::vector<NodeInput> nodes;
  for (const auto& [name, facts] : view_.Nodes()) {
    nodes.push_back(observer.Observe(name, *facts));
  }
  std::ranges::sort(nodes, {}, &NodeInput::name);
  ShowPods(policies, nodes);
  const WallTime now = clock_.Wall();
  RollOutPlan plan = RollOutAll(nodes, policies, now);
  if (plan.starts()) {
    if (Status fresh = Refresh(observer, nodes); !fresh.has_value()) {
      return std::move(fresh).error();
    }
    plan = RollOutAll(nodes, policies, now);
  }
  Status first;
  for (const Change& change : plan.changes) {
    const auto node = std::ranges::find(nodes, change.node, &NodeInput::name);
    if (Status carried = Carry(*node, change); !carried.has_value() && first.has_value()) {
      first = std::move(carried);
    }
  }
  Tell({true, plan.counts, Summary(plan), StatusOf(plan), plan.unfinished});
  if (!first.has_value()) {
    return std::move(first).error();
  }
  if (plan.look_again.has_value()) {
    return kube::RetryAfter{
        std::chrono::ceil<std::chrono::milliseconds>(std::max(*plan.look_again, now) - now)};
  }
  return kube::Done{};
}

void Actor::ShowPods(const Policies& policies, std::vector<NodeInput>& nodes) {
  std::set<PodQuery> queries = PodsFor(nodes, policies, space_);
  std::map<PodQuery, Watches::Pods> shown;
  queries.insert(DriverQuery(space_));
  watches_.Use(queries);
  std::erase_if(evictions_, [&](const auto& entry) {
    const auto node = std::ranges::find(nodes, entry.first, &NodeInput::name);
    return node == nodes.end() || node->state != entry.second.first;
  });
  for (NodeInput& node : nodes) {
    const policy::UpgradePolicy* policy = PolicyOf(policies, node);
    const auto query = policy == nullptr ? std::nullopt : PodsFor(node, *policy, space_);
    if (!query.has_value()) {
      continue;
    }
    if (const auto tried = evictions_.find(node.name); tried != evictions_.end()) {
      node.eviction = tried->second.second;
    }
    if (!queries.contains(*query)) {
      node.unseen = format("{} other nodes are looked at first", kNodesAtOnce);
      continue;
    }
    const auto [place, first] = shown.try_emplace(*query);
    if (first) {
      place->second = watches_.Look(*query);
    }
    const Watches::Pods& pods = place->second;
    if (!pods.seen) {
      node.unseen = pods.failure.empty() ? "its pods are being listed" : pods.failure;
      continue;
    }
    node.pods.emplace();
    std::ranges::copy_if(pods.pods, std::back_inserter(*node.pods),
                         [&](const NamedPod& pod) { return pod.facts.node == node.name; });
  }
}

// Whoever else is in progress by now is not left out.
Status Actor::Refresh(const Observer& observer, std::vector<NodeInput>& nodes) {
  TRY(client_.List(kube::kinds::kNode, {.space = "", .labels = InProgressSelector(), .fields = ""},
                   [&](const Json& object) {
                     NodeInput fresh =
                         observer.Observe(TextAt(object, "metadata.name"), ProjectNode(object));
                     const auto known = std::ranges::find(nodes, fresh.name, &NodeInput::name);
                     if (known == nodes.end()) {
                       nodes.push_back(std::move(fresh));
                     } else if (!SameNode(*known, fresh)) {
                       fresh.unseen = "it was changed just now";
                       *known = std::move(fresh);
                     }
                   }));
  return {};
}

Status Actor::Carry(const NodeInput& node, const Change& change) {
  if (change.marks_node()) {
    auto wrote = Write(node, change);
    if (!wrote.has_value()) {
      return wrote.error().kind == ErrorKind::kNotFound
                 ? Status{}
                 : Status(std::unexpected(std::move(wrote).error()));
    }
    if (!*wrote) {
      return {};
    }
  }
  if (!change.evict.empty()) {
    Evict(node, change);
  }
  if (change.restart.has_value()) {
    log::Info("node {}: deleting its driver's pod {}", node.name, change.restart->key.Text());
    TRY(IgnoreGone(
        client_.Delete(kube::kinds::kPod, change.restart->key, {.uid = change.restart->uid})));
  }
  return {};
}

Result<bool> Actor::Write(const NodeInput& node, const Change& change) {
  const kube::Key key{"", node.name};
  TRY_ASSIGN(const Json now, client_.Get(kube::kinds::kNode, key));
  const Sight nothing;
  if (!SameNode(node, Observer(nothing).Observe(node.name, ProjectNode(now)))) {
    view_.WroteNode(now);
    return false;
  }
  Json patch = PatchOf(change);
  patch["metadata"]["resourceVersion"] = kube::ResourceVersionOf(now);
  TRY(client_.MergePatch(kube::kinds::kNode, key, patch));
  if (change.from == change.to) {
    return true;
  }
  const std::string told = Sentence(change);
  const bool trouble = change.to == State::kFailed || change.to == State::kDrain;
  log::Info("node {}: {}", node.name, told);
  if (trouble) {
    events_.Warning(now, kReason, told);
  } else {
    events_.Normal(now, kReason, told);
  }
  return true;
}

// A refusal is not a failure of ours: a disruption budget may allow it later, and until then the
// node's reason says it.
void Actor::Evict(const NodeInput& node, const Change& change) {
  const bool first = !evictions_.contains(node.name);
  Eviction eviction{.at = clock_.Wall(), .refused = ""};
  for (const PodRef& pod : change.evict) {
    const Status evicted = IgnoreGone(client_.Evict(pod.key, {.uid = pod.uid}));
    if (!evicted.has_value()) {
      eviction.refused = evicted.error().message;
    }
  }
  evictions_[node.name] = {node.state, eviction};
  if (first) {
    log::Info("node {}: evicting {} pods for its driver's upgrade", node.name, change.evict.size());
    events_.Normal(kube::NewObject(kube::kinds::kNode, {"", node.name}), kReason,
                   format("evicting {} pods, the first is {}", change.evict.size(),
                          change.evict.front().key.Text()));
  }
}

}  // namespace gantry::gpu_operator::upgrade
