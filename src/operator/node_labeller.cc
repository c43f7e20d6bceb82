// SPDX-License-Identifier: Apache-2.0

// What is written on a Node after a change? node_labels decides the desired labels, which are
// compared with the Node; nothing is written if they are equal.

#include "operator/node_labeller.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/text.h"
#include "operator/feature_changes.h"
#include "operator/node_patch.h"
#include "policy/kinds.h"

namespace gantry::gpu_operator {
namespace {

// An event's reason.
constexpr char kRuleFailed[] = "NodeFeatureRuleFailed";

}  // namespace

NodeLabeller::NodeLabeller(kube::Client& client, View& view, kube::EventRecorder& events,
                           const Settings& settings,
                           std::function<void(const std::string&)> relabel,
                           std::function<void()> labelled, const Clock& clock)
    : client_(client),
      view_(view),
      events_(events),
      settings_(settings),
      relabel_(std::move(relabel)),
      labelled_(std::move(labelled)),
      clock_(clock) {
  metrics_.nfd.started = std::chrono::system_clock::to_time_t(clock_.Wall());
}

bool NodeLabeller::SetRules(const LabelRules& rules, const DriverOwners& owners) {
  {
    const std::lock_guard lock(mutex_);
    if (rules_ == rules && *owners_ == owners) {
      return untried_.empty();
    }
  }
  const std::vector<std::string> names = view_.NodeNames();
  {
    const std::lock_guard lock(mutex_);
    rules_ = rules;
    if (*owners_ != owners) {
      owners_ = std::make_shared<const DriverOwners>(owners);
    }
    untried_ = {names.begin(), names.end()};
  }
  std::ranges::for_each(names, relabel_);
  return names.empty();
}

void NodeLabeller::ClearRules() {
  const std::lock_guard lock(mutex_);
  rules_.reset();
  untried_.clear();
}

kube::Outcome NodeLabeller::Reconcile(const std::string& name) {
  kube::Outcome outcome = Label(name);
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = untried_.erase(name) > 0 && untried_.empty();
  }
  if (last) {
    labelled_();
  }
  return outcome;
}

kube::Outcome NodeLabeller::Label(const std::string& name) {
  const auto node = view_.Node(name);
  const std::shared_ptr<const RuleSet> rule_set = view_.Rules();
  ReportMistakes("", rule_set->mistakes);
  if (node == nullptr) {
    ReportMistakes(name, {});
    return CollectGarbage(name);
  }
  std::optional<LabelRules> rules;
  std::shared_ptr<const DriverOwners> owners;
  {
    const std::lock_guard lock(mutex_);
    rules = rules_;
    owners = owners_;
    gone_.Forget(name);
  }
  if (!rules.has_value()) {
    return kube::Done{};
  }
  rules->driver_owner = owners->OwnerOf(name);
  const FeatureStore::Features features = view_.FeaturesOf(name);
  NamedFeatures named;
  for (const auto& [object, facts] : features) {
    named.emplace_back(object, facts.get());
  }
  const SteadyTime began = clock_.Now();
  const RuleSays says = ApplyRuleSet(*rule_set, named, settings_.master);
  const std::chrono::duration<double> took = clock_.Now() - began;
  ReportMistakes(name, says.outputs.mistakes);
  // One in a namespace that is no longer chosen still exists, but no longer counts.
  std::vector<std::string> gone = SilentOthers(name, *node, named);
  std::erase_if(gone, [this](const std::string& object) { return view_.HasFeature(object); });
  const NodeChange change =
      DecideLabels(name, *node, named, *rules, says, gone, view_.ForeignGpusOf(name));
  {
    const std::lock_guard lock(mutex_);
    NfdMetrics& nfd = metrics_.nfd;
    ++nfd.requests;
    nfd.rejected_labels += change.rejected_labels;
    nfd.rejected_resources += change.rejected_resources;
    nfd.rejected_taints += change.rejected_taints;
    nfd.rule_errors += static_cast<long long>(says.outputs.mistakes.size());
    nfd.rule_seconds.Observe(took.count());
  }
  const TaintChange taint = DecideStartupTaint(*node, change, *rules, settings_.startup_taint);
  if (change.empty() && taint.empty()) {
    return kube::Done{};
  }
  Status wrote = Write(name, change, taint);
  {
    const std::lock_guard lock(mutex_);
    ++(wrote.has_value() ? metrics_.nfd.updates : metrics_.nfd.failures);
  }
  if (!wrote.has_value()) {
    return wrote.error().kind == ErrorKind::kNotFound ? kube::Outcome(kube::Done{})
                                                      : std::move(wrote).error();
  }
  return kube::Done{};
}

void NodeLabeller::ReportMistakes(const std::string& node,
                                  const std::vector<nfd::RuleMistake>& mistakes) {
  std::vector<RuleFailures::News> news;
  {
    const std::lock_guard lock(mutex_);
    news = rule_failures_.Observe(node, mistakes);
  }
  for (const RuleFailures::News& one : news) {
    log::Warning("NodeFeatureRule {}: {}", one.object, one.message);
    Json object = kube::NewObject(policy::kNodeFeatureRule, {"", one.object});
    object["metadata"]["uid"] = one.uid;
    events_.Warning(object, kRuleFailed, one.all);
  }
}

// One write, and a second one only for extended resources, which are in the status.
Status NodeLabeller::Write(const std::string& name, const NodeChange& change,
                           const TaintChange& taint) {
  const kube::Key key{"", name};
  if (!change.resources.empty()) {
    TRY(client_.MergePatch(kube::kinds::kNode, key, ResourcePatchOf(change), kube::Part::kStatus));
  }
  Json patch = PatchOf(change);
  if (!change.taint.empty() || !change.untaint.empty() || !taint.empty()) {
    // The list of taints is replaced as a whole: only if it has not changed since.
    TRY_ASSIGN(const Json node, client_.Get(kube::kinds::kNode, key));
    const Json* taints = At(node, "spec.taints");
    patch = PatchOf(change, taints == nullptr ? Json::array() : *taints);
    patch["metadata"]["resourceVersion"] = kube::ResourceVersionOf(node);
    if (!taint.empty()) {
      AddToPatch(taint, node, patch);
    }
  }
  TRY_ASSIGN(const Json stored, client_.MergePatch(kube::kinds::kNode, key, patch));
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
    ++metrics_.writes;
  }
  view_.WroteNode(stored);
  return {};
}

kube::Outcome NodeLabeller::CollectGarbage(const std::string& node) {
  const FeatureStore::Features features = view_.FeaturesOf(node);
  {
    const std::lock_guard lock(mutex_);
    if (features.empty()) {
      gone_.Forget(node);
      return kube::Done{};
    }
    if (const auto delay = gone_.Missed(node, clock_.Now()); delay.count() > 0) {
      return kube::RetryAfter{delay};
    }
  }
  auto there = client_.Get(kube::kinds::kNode, {"", node});
  if (there.has_value()) {
    return kube::Done{};
  }
  if (there.error().kind != ErrorKind::kNotFound) {
    return std::move(there).error();
  }
  for (const auto& [object, facts] : features) {
    kube::Key key = kube::Key::FromText(object);
    if (key.ns.empty()) {
      key.ns = settings_.ns;
    }
    Status deleted = client_.Delete(policy::kNodeFeature, key);
    const bool failed = !deleted.has_value() && deleted.error().kind != ErrorKind::kNotFound;
    {
      const std::lock_guard lock(mutex_);
      ++(failed ? metrics_.nfd.collect_failures : metrics_.nfd.collected);
    }
    if (failed) {
      return std::move(deleted).error();
    }
    log::Info("node {} is gone: NodeFeature {} is deleted", node, object);
  }
  return kube::Done{};
}

NodeMetrics NodeLabeller::metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_;
}

}  // namespace gantry::gpu_operator
