// SPDX-License-Identifier: Apache-2.0

// Which nodes continue their driver's upgrade, and which may start? Every node takes its own next
// step; only a start needs the budget. It is counted as in NVIDIA's operator: a failed node keeps
// its part, so that a broken driver stops at the first nodes.

#include "operator/upgrade/roll_out.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator::upgrade {
namespace {

constexpr size_t kShown = 100;

bool IsManaged(const NodeInput& node) {
  return node.driver.has_value() || (node.wanted && node.state != State::kUnknown);
}

bool IsUnavailable(const NodeInput& node) {
  return node.cordoned || !node.ready || InProgress(node.state);
}

void Count(const std::vector<NodeInput>& nodes, Counts& counts) {
  for (const NodeInput& node : nodes) {
    if (IsManaged(node)) {
      ++counts.total;
      counts.done += node.state == State::kDone ? 1 : 0;
      counts.pending += node.state == State::kRequired ? 1 : 0;
      counts.failed += node.state == State::kFailed ? 1 : 0;
      counts.in_progress += InProgress(node.state) ? 1 : 0;
    }
  }
}

std::string Names(const std::vector<NodeInput>& nodes, bool (*which)(const NodeInput&)) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  size_t all = 0;
  for (const NodeInput& node : nodes) {
    if (IsManaged(node) && which(node) && ++all <= kNamed) {
      names.push_back(node.state == State::kFailed ? node.name + " (failed)" : node.name);
    }
  }
  std::string text = Join(names, ", ");
  if (all > kNamed) {
    text += format(" and {} more", all - kNamed);
  }
  return text;
}

// How many more nodes may start, and why if none may.
class Budget {
 public:
  Budget(const std::vector<NodeInput>& nodes, const policy::UpgradePolicy& policy,
         const Counts& counts) {
    const long long most = policy.max_unavailable.Of(counts.total);
    const auto unavailable = std::ranges::count_if(
        nodes, [](const NodeInput& node) { return IsManaged(node) && IsUnavailable(node); });
    room_ = std::max(0LL, most - unavailable);
    slots_ = policy.max_parallel == 0 ? counts.pending
                                      : std::max(0LL, policy.max_parallel - counts.in_progress);
    if (slots_ == 0) {
      why_ = format("waits for its turn: {} at once (maxParallelUpgrades), now {}",
                    policy.max_parallel,
                    Names(nodes, [](const NodeInput& node) { return InProgress(node.state); }));
    } else if (room_ == 0) {
      why_ =
          format("waits for its turn: {} of {} nodes may be unavailable (maxUnavailable), now {}",
                 most, counts.total, Names(nodes, IsUnavailable));
    }
  }
  [[nodiscard]] long long Left() const { return std::min(slots_, room_); }
  // Whether the node may start. A cordoned node also uses a slot, if there is one.
  bool Take(const NodeInput& node) {
    if (node.cordoned) {
      slots_ = std::max(0LL, slots_ - 1);
      return true;
    }
    if (Left() == 0) {
      return false;
    }
    --slots_;
    --room_;
    return true;
  }
  // For a node that did not start.
  [[nodiscard]] std::string Why() const {
    return why_.empty() ? "waits for its turn: others start just now" : why_;
  }

 private:
  long long slots_ = 0;
  long long room_ = 0;
  std::string why_;
};

int Rank(State state) {
  if (state == State::kFailed) {
    return 0;
  }
  return InProgress(state) ? 1 : 2;
}

void SortByRank(std::vector<NodeStatus>& nodes) {
  std::ranges::sort(nodes, {},
                    [](const NodeStatus& node) { return std::pair(Rank(node.state), node.name); });
}

// Nodes that have been in progress longest come first.
std::vector<const NodeInput*> ByAge(const std::vector<NodeInput>& nodes) {
  std::vector<std::pair<WallTime, const NodeInput*>> aged;
  for (const NodeInput& node : nodes) {
    const auto mark = node.marks.find(names::kUpgradeStep);
    const auto record = mark == node.marks.end() ? std::nullopt : ParseRecord(mark->second);
    aged.emplace_back(record.has_value() ? record->since : WallTime::max(), &node);
  }
  std::ranges::sort(aged, {},
                    [](const auto& entry) { return std::pair(entry.first, entry.second->name); });
  std::vector<const NodeInput*> sorted;
  std::ranges::transform(aged, std::back_inserter(sorted),
                         [](const auto& entry) { return entry.second; });
  return sorted;
}

const Policies::value_type* EntryOf(const Policies& policies, const NodeInput& node) {
  for (const std::string& name : {node.owner, std::string()}) {
    if (const auto found = policies.find(name); found != policies.end()) {
      return &*found;
    }
  }
  return nullptr;
}

// The message for a NVIDIADriver's nodes while its upgrade policy is unknown.
RollOutPlan Hold(const std::vector<NodeInput>& nodes, const std::string& driver) {
  RollOutPlan plan;
  Count(nodes, plan.counts);
  for (const NodeInput& node : nodes) {
    if (IsManaged(node) && (InProgress(node.state) || node.state == State::kRequired)) {
      plan.unfinished |= !node.skip;
      NodeStatus& status = plan.nodes.emplace_back();
      status.name = node.name;
      status.state = node.state;
      status.reason =
          format("does not change: upgradePolicy of NVIDIADriver {} is invalid", driver);
    }
  }
  return plan;
}

// Pods of draining nodes are watched node by node, and their time runs: nodes beyond the limit wait
// before that step.
void HoldBack(const std::vector<NodeInput>& nodes, const Policies& policies, RollOutPlan& plan) {
  auto emptied = std::ranges::count_if(nodes, [&policies](const NodeInput& node) {
    return (node.state == State::kPodDeletion || node.state == State::kDrain) &&
           PolicyOf(policies, node) != nullptr;
  });
  std::erase_if(plan.changes, [&](const Change& change) {
    if (change.from != State::kWaitForJobs || change.to != State::kPodDeletion ||
        ++emptied <= static_cast<long>(kNodesAtOnce)) {
      return false;
    }
    const auto status = std::ranges::find(plan.nodes, change.node, &NodeStatus::name);
    status->reason = format("{} other nodes are emptied first", kNodesAtOnce);
    return true;
  });
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  total += other.total;
  done += other.done;
  pending += other.pending;
  in_progress += other.in_progress;
  failed += other.failed;
  available += other.available;
  return *this;
}

bool RollOutPlan::starts() const {
  return std::ranges::any_of(changes, [](const Change& change) {
    return change.from == State::kRequired && InProgress(change.to);
  });
}

RollOutPlan RollOut(const std::vector<NodeInput>& nodes, const policy::UpgradePolicy& policy,
                    WallTime now) {
  RollOutPlan plan;
  Count(nodes, plan.counts);
  Budget budget(nodes, policy, plan.counts);
  plan.counts.available = static_cast<int>(budget.Left());
  std::vector<Step> steps;
  std::ranges::transform(nodes, std::back_inserter(steps),
                         [&](const NodeInput& node) { return Advance(node, policy, now); });
  for (const bool cordoned : {true, false}) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (steps[i].waits_for_turn && nodes[i].cordoned == cordoned) {
        if (budget.Take(nodes[i])) {
          steps[i].change = Start(nodes[i], now);
        } else {
          steps[i].status.reason = budget.Why();
        }
      }
    }
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const State state = steps[i].status.state;
    plan.unfinished |= !nodes[i].skip && (InProgress(state) || state == State::kRequired);
  }
  for (Step& step : steps) {
    if (step.requeue_at.has_value()) {
      plan.requeue_at = std::min(plan.requeue_at.value_or(*step.requeue_at), *step.requeue_at);
    }
    if (!step.change.empty()) {
      plan.changes.push_back(std::move(step.change));
    }
    if (InProgress(step.status.state) || step.status.state == State::kRequired) {
      plan.nodes.push_back(std::move(step.status));
    }
  }
  SortByRank(plan.nodes);
  return plan;
}

const policy::UpgradePolicy* PolicyOf(const Policies& policies, const NodeInput& node) {
  const Policies::value_type* entry = EntryOf(policies, node);
  return entry == nullptr || !entry->second.has_value() ? nullptr : &*entry->second;
}

RollOutPlan RollOutAll(const std::vector<NodeInput>& nodes, const Policies& policies,
                       WallTime now) {
  std::map<const Policies::value_type*, std::vector<NodeInput>> groups;
  for (const NodeInput& node : nodes) {
    groups[EntryOf(policies, node)].push_back(node);
  }
  RollOutPlan all;
  for (const NodeInput& node : std::exchange(groups[nullptr], {})) {
    if (Change change = Abandon(node); !change.empty()) {
      all.changes.push_back(std::move(change));
    }
  }
  for (const Policies::value_type& entry : policies) {
    const auto& [name, policy] = entry;
    RollOutPlan plan =
        policy.has_value() ? RollOut(groups[&entry], *policy, now) : Hold(groups[&entry], name);
    std::ranges::move(plan.changes, std::back_inserter(all.changes));
    std::ranges::move(plan.nodes, std::back_inserter(all.nodes));
    all.counts += plan.counts;
    all.unfinished |= plan.unfinished;
    if (plan.requeue_at.has_value()) {
      all.requeue_at = std::min(all.requeue_at.value_or(*plan.requeue_at), *plan.requeue_at);
    }
  }
  HoldBack(nodes, policies, all);
  SortByRank(all.nodes);
  return all;
}

bool IsOn(const policy::ClusterPolicy& policy) {
  const policy::Operand& driver = policy::OperandOf(policy::OperandId::kDriver);
  return policy.driver_options.upgrade.automatic && !policy.sandbox &&
         policy::Wanted(driver, policy) && policy::HasImage(driver, policy);
}

std::set<PodQuery> PodsFor(const std::vector<NodeInput>& nodes, const Policies& policies,
                           const std::string& ns) {
  std::set<PodQuery> queries;
  size_t one_by_one = 0;
  for (const NodeInput* node : ByAge(nodes)) {
    const policy::UpgradePolicy* policy = PolicyOf(policies, *node);
    if (policy == nullptr) {
      continue;
    }
    std::optional<PodQuery> query = PodsFor(*node, *policy, ns);
    if (query.has_value() && (query->node.empty() || ++one_by_one <= kNodesAtOnce)) {
      queries.insert(*std::move(query));
    }
    // One list for an entire roll-out, ready when the first node needs it.
    if (InProgress(node->state) && node->state != State::kFailed) {
      queries.insert(ValidatorPods(ns));
    }
  }
  return queries;
}

Json StatusOf(const RollOutPlan& plan) {
  Json status = {{"total", plan.counts.total},
                 {"done", plan.counts.done},
                 {"inProgress", plan.counts.in_progress - plan.counts.failed},
                 {"failed", plan.counts.failed},
                 {"pending", plan.counts.pending}};
  Json nodes = Json::array();
  for (const NodeStatus& node : plan.nodes) {
    if (nodes.size() == kShown) {
      break;
    }
    Json entry = {{"name", node.name}, {"state", NameOf(node.state)}};
    if (node.since.has_value()) {
      entry["since"] = Rfc3339(*node.since);
    }
    if (node.deadline.has_value()) {
      entry["deadline"] = Rfc3339(*node.deadline);
    }
    if (!node.reason.empty()) {
      entry["reason"] = node.reason;
    }
    if (!node.next.empty()) {
      entry["next"] = node.next;
    }
    nodes.push_back(std::move(entry));
  }
  if (!nodes.empty()) {
    status["nodes"] = std::move(nodes);
  }
  return status;
}

std::string Summary(const RollOutPlan& plan) {
  if (plan.nodes.empty()) {
    return "";
  }
  const NodeStatus& first = plan.nodes.front();
  return format("{} of {} drivers are upgraded; {} is {}{}{}", plan.counts.done, plan.counts.total,
                first.name, NameOf(first.state), first.reason.empty() ? "" : ": ", first.reason);
}

}  // namespace gantry::gpu_operator::upgrade
