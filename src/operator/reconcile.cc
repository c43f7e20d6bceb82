// SPDX-License-Identifier: Apache-2.0

// What is done when something changed? The whole state is worked out anew from the view and
// compared with it; nothing is written when they agree. The oldest ClusterPolicy counts, as with
// NVIDIA's operator; the others say so in their status.

#include "operator/reconcile.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "operator/startup_taint.h"
#include "policy/kinds.h"

namespace gantry::gpu_operator {
namespace {

// The oldest first, ties by name.
void SortByAge(std::vector<Json>& policies) {
  std::ranges::sort(policies, {}, [](const Json& object) {
    return std::pair(TextAt(object, "metadata.creationTimestamp"), TextAt(object, "metadata.name"));
  });
}

Json StatusIn(const Json& object) {
  const Json* status = At(object, "status");
  return status == nullptr ? Json() : *status;
}

long long GenerationOf(const Json& object) { return IntAt(object, "metadata.generation", 0); }

}  // namespace

Reconciler::Reconciler(kube::Client& client, View& view, kube::EventRecorder& events,
                       Settings settings, std::function<void(const std::string&)> relabel,
                       const Clock& clock)
    : client_(client),
      view_(view),
      events_(events),
      settings_(std::move(settings)),
      relabel_(std::move(relabel)),
      clock_(clock),
      applier_(client, view) {}

kube::Outcome Reconciler::Cluster() {
  std::vector<Json> policies = view_.Policies();
  SortByAge(policies);
  // One that is being deleted takes its objects with it.
  std::erase_if(policies, [](const Json& object) {
    return At(object, "metadata.deletionTimestamp") != nullptr;
  });
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.reconciles;
    metrics_.status = policies.empty() ? -1 : metrics_.status;
    if (policies.empty()) {
      rules_.reset();
    }
  }
  Status result = policies.empty() ? Status{} : Follow(policies.front());
  const auto note = [&](Status wrote) {
    if (result.has_value()) {
      result = std::move(wrote);
    }
  };
  for (size_t i = 1; i < policies.size(); ++i) {
    const Json& other = policies[i];
    note(WriteStatus(policy::kClusterPolicy, other,
                     IgnoredStatus(TextAt(policies.front(), "metadata.name"), StatusIn(other),
                                   GenerationOf(other), clock_.Wall())));
  }
  for (const Json& other : view_.ShortPolicies()) {
    note(WriteStatus(policy::kGpuClusterPolicy, other,
                     ShortFormStatus(StatusIn(other), GenerationOf(other), clock_.Wall())));
  }
  if (!result.has_value()) {
    return std::move(result).error();
  }
  return kube::Done{};
}

Status Reconciler::Follow(const Json& object) {
  const Json before = StatusIn(object);
  auto parsed = policy::Parse(object);
  if (!parsed.has_value()) {
    return WriteStatus(policy::kClusterPolicy, object,
                       InvalidStatus(parsed.error().message, settings_.space, before,
                                     GenerationOf(object), clock_.Wall()));
  }
  if (!settings_.startup_taint.empty()) {
    parsed->tolerations.push_back({{"key", settings_.startup_taint}, {"operator", "Exists"}});
  }
  const auto nodes = view_.Nodes();
  NamedNodes named;
  for (const auto& [name, facts] : nodes) {
    named.emplace_back(name, facts.get());
  }
  const ClusterFacts cluster = Summarize(named, parsed->tolerations);
  const bool foreign = cluster.foreign_nfd || view_.ForeignFeatures();
  SetRules(RulesOf(*parsed, foreign));

  const Context context{.policy = *parsed,
                        .space = settings_.space,
                        .image = settings_.image,
                        .pull_policy = settings_.pull_policy,
                        .runtime = cluster.runtime,
                        .owner = kube::OwnerReference(object, true)};
  const bool node_features = settings_.node_features && !foreign;
  const std::vector<DesiredOperand> operands = DesiredOperands(context, node_features);
  std::vector<Json> desired;
  for (const DesiredOperand& operand : operands) {
    desired.insert(desired.end(), operand.objects.begin(), operand.objects.end());
  }
  const bool complete = std::ranges::all_of(
      operands, [](const DesiredOperand& operand) { return operand.mistake.empty(); });
  const Plan plan = applier_.Compare(desired, complete);
  const Status carried = applier_.Carry(plan);

  const std::map<std::string, DaemonSetFacts> daemon_sets = view_.DaemonSets();
  VerdictInput input;
  input.operands = &operands;
  input.daemon_sets = &daemon_sets;
  input.cluster = &cluster;
  input.unsupported_fields = policy::UnsupportedFields(object);
  input.space = settings_.space;
  input.node_features_ours = node_features;
  if (view_.ConfigMapMissing(parsed->config_name)) {
    input.missing_config = parsed->config_name;
  }
  if (!carried.has_value()) {
    input.write_error = carried.error().message;
  }
  const Verdict verdict = Judge(input);
  {
    const std::lock_guard lock(mutex_);
    metrics_.gpu_nodes = cluster.gpu_nodes;
    metrics_.has_nfd_labels = cluster.described > 0;
    metrics_.status = verdict.state == "ready" ? 1 : 0;
    metrics_.failures += verdict.state == "ready" ? 0 : 1;
    metrics_.object_writes +=
        static_cast<long long>(plan.create.size() + plan.replace.size() + plan.remove.size());
    if (verdict.state == "ready") {
      metrics_.last_success_seconds =
          std::chrono::duration_cast<std::chrono::seconds>(clock_.Wall().time_since_epoch())
              .count();
    }
  }
  Announce(object, verdict);
  Status wrote = WriteStatus(policy::kClusterPolicy, object,
                             StatusOf(verdict, input, before, GenerationOf(object), clock_.Wall()));
  return carried.has_value() ? wrote : carried;
}

Status Reconciler::WriteStatus(const kube::Kind& kind, const Json& object, const Json& status) {
  const Json before = StatusIn(object);
  if (SameStatus(before, status)) {
    return {};
  }
  Json patch = status;
  for (const auto& [key, value] : before.items()) {
    if (!patch.contains(key)) {
      patch[key] = nullptr;
    }
  }
  auto stored = client_.MergePatch(kind, kube::KeyOf(object), {{"status", std::move(patch)}},
                                   kube::Part::kStatus);
  if (!stored.has_value()) {
    return stored.error().kind == ErrorKind::kNotFound
               ? Status{}
               : Status(std::unexpected(std::move(stored).error()));
  }
  const std::lock_guard lock(mutex_);
  ++metrics_.status_writes;
  return {};
}

void Reconciler::Announce(const Json& object, const Verdict& verdict) {
  const std::string now = verdict.state + " " + verdict.reason;
  if (now == announced_) {
    return;
  }
  announced_ = now;
  log::Info("ClusterPolicy {}: {} ({}): {}", TextAt(object, "metadata.name"), verdict.state,
            verdict.reason, verdict.message);
  if (verdict.state == "ready") {
    events_.Normal(object, verdict.reason, verdict.message);
  } else {
    events_.Warning(object, verdict.reason, verdict.message);
  }
}

void Reconciler::SetRules(const LabelRules& rules) {
  {
    const std::lock_guard lock(mutex_);
    if (rules_ == rules) {
      return;
    }
    rules_ = rules;
  }
  for (const std::string& name : view_.NodeNames()) {
    relabel_(name);
  }
}

kube::Outcome Reconciler::Node(const std::string& name) {
  std::optional<LabelRules> rules;
  {
    const std::lock_guard lock(mutex_);
    rules = rules_;
  }
  const auto node = view_.Node(name);
  if (!rules.has_value() || node == nullptr) {
    return kube::Done{};
  }
  const View::Features features = view_.FeaturesOf(name);
  NamedFeatures named;
  for (const auto& [object, facts] : features) {
    named.emplace_back(object, facts.get());
  }
  const NodeChange change = DecideLabels(*node, named, *rules);
  const TaintChange taint = DecideStartupTaint(*node, change, settings_.startup_taint);
  if (change.empty() && taint.empty()) {
    return kube::Done{};
  }
  Json patch = PatchOf(change);
  if (!taint.empty()) {
    auto now = client_.Get(kube::kinds::kNode, {"", name});
    if (!now.has_value()) {
      return now.error().kind == ErrorKind::kNotFound ? kube::Outcome(kube::Done{})
                                                      : std::move(now).error();
    }
    AddToPatch(taint, *now, patch);
  }
  auto stored = client_.MergePatch(kube::kinds::kNode, {"", name}, patch);
  if (!stored.has_value()) {
    if (stored.error().kind == ErrorKind::kNotFound) {
      return kube::Done{};
    }
    return std::move(stored).error();
  }
  if (!change.empty()) {
    log::Info("labelled node {}: {} set, {} removed", name, change.set.size(),
              change.remove.size());
  }
  if (!taint.empty()) {
    log::Info("node {} is {} for pods: start-up taint {}", name,
              taint.add.empty() ? "open" : "closed", settings_.startup_taint);
  }
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.node_writes;
  }
  view_.WroteNode(*stored);
  return kube::Done{};
}

Metrics Reconciler::metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_;
}

}  // namespace gantry::gpu_operator
