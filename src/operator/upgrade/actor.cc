// SPDX-License-Identifier: Apache-2.0

// How is an upgrade carried out in the cluster? Every pass makes the entire plan again. A Node is
// written only if it has not changed since the decision, and before a node starts, those in
// progress are read from the API server itself: a lagging watch must not take a second node out of
// service.

#include "operator/upgrade/actor.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "base/text.h"
#include "operator/upgrade/remove_pods.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

constexpr char kReason[] = "GPUDriverUpgrade";

PodQuery DriverQuery(const std::string& ns) { return {.ns = ns, .labels = kDriverPods}; }

// The nodes that use part of the budget, as a label selector.
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

// A conflict is not a failure here: the pod may still exist.
Status IgnoreGone(Status status) {
  const bool gone = !status.has_value() && status.error().kind == ErrorKind::kNotFound;
  return gone ? Status{} : status;
}

}  // namespace

Actor::Actor(kube::Client& client, View& view, kube::EventRecorder& events, std::string ns,
             std::function<void()> wake, std::function<void()> changed, const Clock& clock)
    : client_(client),
      view_(view),
      events_(events),
      ns_(std::move(ns)),
      wake_(std::move(wake)),
      changed_(std::move(changed)),
      clock_(clock),
      watches_(client, ns_, wake_) {}

void Actor::SetPolicies(const Policies& policies) {
  {
    const std::lock_guard lock(mutex_);
    if (policies_ == policies) {
      return;
    }
    policies_ = policies;
  }
  wake_();
}

UpgradeStatus Actor::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Actor::SetStatus(UpgradeStatus status) {
  {
    const std::lock_guard lock(mutex_);
    if (status_ == status) {
      return;
    }
    status_ = std::move(status);
  }
  changed_();
}

kube::Outcome Actor::Reconcile() {
  std::optional<Policies> policies;
  {
    const std::lock_guard lock(mutex_);
    policies = policies_;
  }
  if (!policies.has_value()) {
    return kube::Done{};
  }
  if (!policies->empty()) {
    return Upgrade(*policies);
  }
  watches_.Use({});
  progress_.clear();
  SetStatus({});
  Status status = AbandonAll();
  return status.has_value() ? kube::Outcome(kube::Done{}) : std::move(status).error();
}

Status Actor::AbandonAll() {
  Status first;
  if (view_.upgrade_traces() == 0) {
    return first;
  }
  const DriverSnapshot nothing;
  const Observer observer(nothing);
  for (const auto& [name, facts] : view_.Nodes()) {
    if (!HasTraces(*facts)) {
      continue;
    }
    const NodeInput node = observer.Observe(name, *facts);
    if (auto carried = Apply(node, Abandon(node)); !carried.has_value() && first.has_value()) {
      first = std::unexpected(std::move(carried).error());
    }
  }
  return first;
}

Result<std::optional<DriverSnapshot>> Actor::TakeSnapshot() {
  watches_.Add(DriverQuery(ns_));
  Watches::Pods drivers = watches_.PodsOf(DriverQuery(ns_));
  if (!drivers.seen && !drivers.failure.empty()) {
    return Fail(ErrorKind::kUnavailable, drivers.failure);
  }
  if (!drivers.seen || !watches_.revisions_seen()) {
    return std::nullopt;
  }
  return DriverSnapshot{std::move(drivers.pods), watches_.Revisions(), view_.DaemonSets()};
}

kube::Outcome Actor::Upgrade(const Policies& policies) {
  auto seen = TakeSnapshot();
  if (!seen.has_value()) {
    return std::move(seen).error();
  }
  const std::optional<DriverSnapshot> snapshot = *std::move(seen);
  if (!snapshot.has_value()) {
    return kube::Done{};  // the watches wake this again
  }
  const Observer observer(*snapshot);
  std::vector<NodeInput> nodes;
  for (const auto& [name, facts] : view_.Nodes()) {
    nodes.push_back(Observe(observer, name, *facts));
  }
  std::ranges::sort(nodes, {}, &NodeInput::name);
  Status first = ShowPods(policies, nodes);
  const WallTime now = clock_.Wall();
  RollOutPlan plan = RollOutAll(nodes, policies, now);
  if (plan.starts()) {
    if (Status fresh = Refresh(observer, nodes); !fresh.has_value()) {
      return std::move(fresh).error();
    }
    plan = RollOutAll(nodes, policies, now);
  }
  bool moved = false;
  for (const Change& change : plan.changes) {
    const auto node = std::ranges::find(nodes, change.node, &NodeInput::name);
    auto carried = Apply(*node, change);
    moved |= carried.value_or(false);
    if (!carried.has_value() && first.has_value()) {
      first = std::unexpected(std::move(carried).error());
    }
  }
  SetStatus({true, plan.counts, Summary(plan), StatusOf(plan), plan.unfinished});
  if (!first.has_value()) {
    return std::move(first).error();
  }
  if (moved) {
    return kube::RetryAfter{};  // the view has the write: the next step is known
  }
  if (plan.requeue_at.has_value()) {
    return kube::RetryAfter{
        std::chrono::ceil<std::chrono::milliseconds>(std::max(*plan.requeue_at, now) - now)};
  }
  return kube::Done{};
}

NodeInput Actor::Observe(const Observer& observer, const std::string& name,
                         const NodeFacts& facts) const {
  NodeInput node = observer.Observe(name, facts);
  if (!node.broken.empty()) {
    if (const std::string said = view_.BrokenOf(names::kValidationFeature + name); !said.empty()) {
      node.broken += ": " + said;
    }
  }
  return node;
}

Status Actor::ShowPods(const Policies& policies, std::vector<NodeInput>& nodes) {
  Status first;
  std::map<std::string, bool> claimed;
  std::set<PodQuery> queries = PodsFor(nodes, policies, ns_);
  std::map<PodQuery, Watches::Pods> shown;
  queries.insert(DriverQuery(ns_));
  watches_.Use(queries);
  const WallTime now = clock_.Wall();
  std::erase_if(progress_, [&](const auto& entry) {
    const auto node = std::ranges::find(nodes, entry.first, &NodeInput::name);
    return node == nodes.end() || node->state != entry.second.state;
  });
  for (NodeInput& node : nodes) {
    const policy::UpgradePolicy* policy = PolicyOf(policies, node);
    const auto query = policy == nullptr ? std::nullopt : PodsFor(node, *policy, ns_);
    if (query.has_value() && !queries.contains(*query)) {
      node.unseen = format("{} other nodes are looked at first", kNodesAtOnce);
      continue;
    }
    if (!InProgress(node.state)) {
      continue;
    }
    const NodeProgress& progress =
        progress_.try_emplace(node.name, NodeProgress{node.state, now, {}}).first->second;
    node.seen_since = progress.since;
    node.eviction = progress.eviction;
    if (!query.has_value()) {
      continue;
    }
    const auto [place, added] = shown.try_emplace(*query);
    if (added) {
      place->second = watches_.PodsOf(*query);
    }
    const Watches::Pods& pods = place->second;
    if (!pods.seen) {
      node.refused = !pods.failure.empty();
      node.unseen = node.refused ? pods.failure : "its pods are being listed";
      continue;
    }
    std::vector<NamedPod>& own = node.pods.emplace();
    std::ranges::copy_if(pods.pods, std::back_inserter(own),
                         [&](const NamedPod& pod) { return pod.facts.node == node.name; });
    if (node.state == State::kPodDeletion) {
      if (Status known = ShowClaims(own, claimed); !known.has_value()) {
        node.pods.reset();
        node.unseen = known.error().message;
        first = std::move(known);
      }
    }
  }
  claimed_ = std::move(claimed);
  return first;
}

// A claim's devices do not change while a pod uses it, so it is read once.
Status Actor::ShowClaims(std::vector<NamedPod>& pods, std::map<std::string, bool>& known) {
  for (NamedPod& pod : pods) {
    if (pod.facts.uses_gpus || pod.facts.claims.empty()) {
      continue;
    }
    if (const auto before = claimed_.find(pod.facts.uid); before != claimed_.end()) {
      known.insert(*before);
    }
    const auto [holds, asks] = known.try_emplace(pod.facts.uid, false);
    for (const std::string& name : pod.facts.claims) {
      if (!asks || holds->second) {
        break;
      }
      const Result<Json> claim = ReadClaim({pod.key.ns, name});
      if (!claim.has_value()) {
        known.erase(holds);
        return std::unexpected(claim.error());
      }
      holds->second = HoldsGpus(*claim);
    }
    pod.facts.uses_gpus = holds->second;
  }
  return {};
}

// Null if there is none. The API server may be of any version since 1.32; they agree here.
Result<Json> Actor::ReadClaim(const kube::Key& key) {
  for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
    Result<Json> claim =
        client_.Get({"resource.k8s.io", version, "ResourceClaim", "resourceclaims"}, key);
    if (claim.has_value() || claim.error().kind != ErrorKind::kNotFound) {
      return claim;
    }
  }
  return Json();
}

// Other nodes that are in progress by now are not left out.
Status Actor::Refresh(const Observer& observer, std::vector<NodeInput>& nodes) {
  const WallTime now = clock_.Wall();
  TRY(client_.List(kube::kinds::kNode, {.ns = "", .labels = InProgressSelector(), .fields = ""},
                   [&](const Json& object) {
                     NodeInput fresh =
                         Observe(observer, TextAt(object, "metadata.name"), ProjectNode(object));
                     fresh.seen_since = now;
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

Result<bool> Actor::Apply(const NodeInput& node, const Change& change) {
  if (change.marks_node()) {
    auto wrote = Write(node, change);
    if (!wrote.has_value() && wrote.error().kind == ErrorKind::kNotFound) {
      return false;
    }
    if (!wrote.has_value() || !*wrote) {
      return wrote;
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
  return change.from != change.to;
}

Result<bool> Actor::Write(const NodeInput& node, const Change& change) {
  const kube::Key key{"", node.name};
  TRY_ASSIGN(const Json now, client_.Get(kube::kinds::kNode, key));
  const DriverSnapshot nothing;
  if (!SameNode(node, Observer(nothing).Observe(node.name, ProjectNode(now)))) {
    view_.WroteNode(now);
    return false;
  }
  Json patch = PatchOf(change);
  patch["metadata"]["resourceVersion"] = kube::ResourceVersionOf(now);
  TRY_ASSIGN(const Json after, client_.MergePatch(kube::kinds::kNode, key, patch));
  view_.WroteNode(after);
  if (change.from == change.to) {
    return true;
  }
  const std::string sentence = Sentence(change);
  const bool trouble = change.to == State::kFailed || change.to == State::kDrain;
  log::Info("node {}: {}", node.name, sentence);
  if (trouble) {
    events_.Warning(now, kReason, sentence);
  } else {
    events_.Normal(now, kReason, sentence);
  }
  return true;
}

void Actor::Evict(const NodeInput& node, const Change& change) {
  Eviction eviction = Remove(client_, change.evict, RemoveBy::kEviction, clock_.Wall());
  const bool first = !node.eviction.has_value();
  if (const auto progress = progress_.find(node.name); progress != progress_.end()) {
    progress->second.eviction = std::move(eviction);
  }
  if (first) {
    log::Info("node {}: evicting {} pods for its driver's upgrade", node.name, change.evict.size());
    Json about = kube::NewObject(kube::kinds::kNode, {"", node.name});
    about["metadata"]["uid"] = node.name;  // as in the kubelet's events: kubectl shows these too
    events_.Normal(about, kReason,
                   format("evicting {} pods, the first is {}", change.evict.size(),
                          change.evict.front().key.Text()));
  }
}

}  // namespace gantry::gpu_operator::upgrade
