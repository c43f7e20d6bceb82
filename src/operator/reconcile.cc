// SPDX-License-Identifier: Apache-2.0

// What does the operator do after a change? It computes the entire desired state and compares it
// with the view; it writes nothing if they are equal. The oldest ClusterPolicy counts, as in
// NVIDIA's operator, and the oldest GPUClusterPolicy overrides it; the status of the others says
// so. A GPUCluster counts as the only one: beside a ClusterPolicy nothing changes, as with
// NVIDIA's.

#include "operator/reconcile.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "operator/observe_cluster.h"
#include "operator/pod_security.h"
#include "policy/gpu_cluster.h"
#include "policy/kinds.h"
#include "policy/known_images.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// The oldest first, ties by name. One that is being deleted does not count.
std::vector<Json> ByAge(std::vector<Json> policies) {
  std::erase_if(policies, [](const Json& object) {
    return At(object, "metadata.deletionTimestamp") != nullptr;
  });
  std::ranges::sort(policies, {}, [](const Json& object) {
    return std::pair(TextAt(object, "metadata.creationTimestamp"), TextAt(object, "metadata.name"));
  });
  return policies;
}

// Those that are not being deleted, by name.
std::vector<Json> ByName(std::vector<Json> drivers) {
  std::erase_if(drivers, [](const Json& object) {
    return At(object, "metadata.deletionTimestamp") != nullptr;
  });
  std::ranges::sort(drivers, {},
                    [](const Json& object) { return TextAt(object, "metadata.name"); });
  return drivers;
}

// An API server is upgraded at most a few times a year; one that did not answer should soon.
constexpr std::chrono::seconds kAskOldServer(60);
constexpr std::chrono::seconds kAskServer(5);

std::set<std::string> UidsOf(const std::vector<Json>& objects) {
  std::set<std::string> uids;
  for (const Json& object : objects) {
    uids.insert(kube::UidOf(object));
  }
  return uids;
}

// Keeps the first error.
void Note(Status status, Status& first) {
  if (first.has_value()) {
    first = std::move(status);
  }
}

}  // namespace

Reconciler::Reconciler(kube::Client& client, View& view, kube::EventRecorder& events,
                       upgrade::Actor& upgrades, MigDrainer& drainer, NodeLabeller& labeller,
                       const Settings& settings, const Clock& clock)
    : client_(client),
      view_(view),
      upgrades_(upgrades),
      drainer_(drainer),
      labeller_(labeller),
      settings_(settings),
      clock_(clock),
      applier_(client, view),
      statuses_(client, events, clock) {}

kube::Outcome Reconciler::Reconcile() {
  const std::vector<Json> policies = ByAge(view_.Policies());
  const std::vector<Json> short_forms = ByAge(view_.ShortPolicies());
  const std::vector<Json> drivers = ByName(view_.Drivers());
  const std::vector<Json> gpu_clusters = ByAge(view_.GpuClusters());
  const bool no_policy = policies.empty() && short_forms.empty() && gpu_clusters.empty();
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.reconciles;
    metrics_.status = no_policy ? -1 : metrics_.status;
  }
  requeue_after_.reset();
  Status first;
  if (no_policy && drivers.empty()) {
    labeller_.ClearRules();
    upgrades_.SetPolicies({});
    drainer_.SetRule(std::nullopt);
  } else if (no_policy) {
    Note(ReconcilePolicy({}, {Json::object(), {}}, drivers).applied, first);
  } else if (gpu_clusters.empty()) {
    Note(ReconcilePolicies(policies, short_forms, drivers), first);
  } else if (policies.empty() && short_forms.empty()) {
    Note(ReconcileGpuCluster(gpu_clusters.front(), drivers), first);
  } else {
    Note(RejectBoth(policies, short_forms, gpu_clusters.front()), first);
  }
  Note(WriteIgnored(policy::kClusterPolicy, policies), first);
  Note(WriteIgnored(policy::kGpuClusterPolicy, short_forms), first);
  for (const Json& gpu_cluster : view_.GpuClusters()) {
    Note(ReleaseDeleted(gpu_cluster), first);
  }
  Note(AskForPods(), first);
  if (!first.has_value()) {
    return std::move(first).error();
  }
  if (foreign_.silent_since.has_value()) {
    RequeueAfter(kTakeoverDelay);
  }
  return requeue_after_.has_value() ? kube::Outcome(kube::RetryAfter{*requeue_after_})
                                    : kube::Done{};
}

Status Reconciler::ReconcilePolicies(const std::vector<Json>& policies,
                                     const std::vector<Json>& short_forms,
                                     const std::vector<Json>& drivers) {
  const Json policy = policies.empty() ? Json() : policies.front();
  policy::LaidOver asked = short_forms.empty() ? policy::LaidOver{policy, {}}
                                               : policy::LayOver(short_forms.front(), policy);
  asked.policy = policy::WithKnownImages(std::move(asked.policy), settings_.release.known_images);
  std::vector<Json> owners;
  for (const std::vector<Json>* kind : {&policies, &short_forms}) {
    if (!kind->empty()) {
      owners.push_back(kind->front());
    }
  }
  Result result = ReconcilePolicy(owners, asked, drivers);
  Status first = std::move(result.applied);
  if (!policies.empty()) {
    Note(WriteStatus(policy::kClusterPolicy, policy, result.status), first);
  }
  if (!short_forms.empty()) {
    const Json& short_form = short_forms.front();
    Note(WriteStatus(policy::kGpuClusterPolicy, short_form,
                     ShortFormStatus(result.status, result.partly, statuses_.EditOf(short_form))),
         first);
  }
  return first;
}

Status Reconciler::ReconcileGpuCluster(const Json& gpu_cluster, const std::vector<Json>& drivers) {
  Result result = ReconcilePolicy({gpu_cluster},
                                  {policy::PolicyOf(gpu_cluster, !drivers.empty()), {}}, drivers);
  Status first = std::move(result.applied);
  Note(WriteStatus(policy::kGpuCluster, gpu_cluster, result.status), first);
  return first;
}

// Nodes and objects stay as they are.
Status Reconciler::RejectBoth(const std::vector<Json>& policies,
                              const std::vector<Json>& short_forms, const Json& gpu_cluster) {
  Status first;
  const Json& policy = policies.empty() ? short_forms.front() : policies.front();
  const auto named = [](const Json& object) {
    return format("{} {}", TextAt(object, "kind"), TextAt(object, "metadata.name"));
  };
  const Result rejected = Reject(
      policy, JudgeInvalid(format("{} exists; delete it or {}", named(gpu_cluster), named(policy))),
      recorded_);
  const std::array kinds = {std::pair(&policy::kClusterPolicy, &policies),
                            std::pair(&policy::kGpuClusterPolicy, &short_forms)};
  for (const auto& [kind, objects] : kinds) {
    if (!objects->empty()) {
      Note(WriteStatus(*kind, objects->front(), rejected.status), first);
    }
  }
  const Result waits = Reject(
      gpu_cluster,
      JudgePrerequisite(format("{} exists; delete it or {}", named(policy), named(gpu_cluster))),
      recorded_beside_);
  Note(WriteStatus(policy::kGpuCluster, gpu_cluster, waits.status), first);
  return first;
}

// NVIDIA's operator holds a GPUCluster until its own pods with claims have ended; here none has
// any.
Status Reconciler::ReleaseDeleted(const Json& gpu_cluster) {
  Json finalizers = ListAt(gpu_cluster, "metadata.finalizers");
  const auto held = std::ranges::find(finalizers, Json(names::kGpuClusterFinalizer));
  if (At(gpu_cluster, "metadata.deletionTimestamp") == nullptr || held == finalizers.end()) {
    return {};
  }
  finalizers.erase(held);
  const auto released = client_.MergePatch(policy::kGpuCluster, kube::KeyOf(gpu_cluster),
                                           {{"metadata", {{"finalizers", finalizers}}}});
  return released.has_value() || released.error().kind == ErrorKind::kNotFound
             ? Status()
             : Status(std::unexpected(released.error()));
}

Reconciler::Result Reconciler::ReconcilePolicy(const std::vector<Json>& owners,
                                               const policy::LaidOver& asked,
                                               const std::vector<Json>& drivers) {
  const Json owner = owners.empty() ? Json() : owners.front();
  auto parsed = policy::Parse(asked.policy);
  if (!parsed.has_value()) {
    return Reject(owner, JudgeInvalid(parsed.error().message), recorded_);
  }
  const policy::ClusterPolicy policy =
      WithStartupTaint(*std::move(parsed), settings_.startup_taint);
  const bool drivers_on = DriversOff(owner, policy).empty();
  const ClusterObservation seen = ObserveCluster(view_, applier_, settings_.ns, policy,
                                                 drivers_on ? drivers : std::vector<Json>());
  if (policy.dra_driver.enabled && seen.claims.served == Served::kUnknown) {
    RequeueAfter(kAskServer);
    return {statuses_.EditOf(owner).before, "", {}};  // as it is
  }
  if (policy.dra_driver.enabled && seen.claims.served == Served::kNo) {
    RequeueAfter(kAskOldServer);
    return Reject(owner, JudgePrerequisite(ClaimsNotServed(seen.claims.server)), recorded_);
  }
  foreign_ =
      NextForeignNfd(foreign_, seen.cluster.foreign_nfd || seen.foreign_features, clock_.Now());
  const ClusterInput input{
      .owners = owners,
      .asked = asked,
      .policy = policy,
      .drivers = drivers,
      .settings = settings_,
      .seen = seen,
      // Several instances may coexist.
      .foreign_nfd = foreign_.at_work && settings_.master.nodes.instance.empty()};
  const ClusterDecision decision = DecideCluster(input, operands_);
  upgrades_.SetPolicies(decision.upgrades);
  Applied applied = Apply(input, decision);
  Status wrote = WriteDrivers(drivers, decision.drivers, seen.cluster, applied);
  Result result = owner.is_null() ? Result{} : Report(input, decision, applied);
  result.applied = std::move(applied.status);
  Note(std::move(wrote), result.applied);
  return result;
}

Reconciler::Result Reconciler::Reject(const Json& owner, const Verdict& verdict,
                                      std::string& recorded) {
  {
    const std::lock_guard lock(mutex_);
    metrics_.Judged(false, clock_.Wall());
  }
  statuses_.RecordEvent(owner, verdict, recorded);
  return {BriefStatus(verdict, settings_.ns, statuses_.EditOf(owner)), verdict.partly, {}};
}

Reconciler::Applied Reconciler::Apply(const ClusterInput& input, const ClusterDecision& decision) {
  Plan plan = applier_.Compare(decision.desired.objects, decision.desired.incomplete);
  if (!plan.remove.empty()) {
    HandOver(decision.drivers_on, applier_.Owned(plan.remove), UidsOf(input.drivers), plan);
  }
  // An existing DaemonSet would delete its pods with the label that it selects by.
  const bool labelled = labeller_.SetRules(
      decision.rules, plan.orphan.empty() ? decision.drivers.owners : UnknownOwners());
  drainer_.SetRule(decision.rules.mig_states ? std::optional(decision.rules.gpu_holders)
                                             : std::nullopt);
  Applied applied;
  if (!labelled) {
    applied.held = std::move(plan);
  } else {
    applied.status = applier_.Apply(plan);
    const std::lock_guard lock(mutex_);
    metrics_.object_writes +=
        static_cast<long long>(plan.create.size() + plan.replace.size() + plan.remove.size());
  }
  Note(LabelNamespace(input.policy, input.seen.openshift), applied.status);
  return applied;
}

Reconciler::Result Reconciler::Report(const ClusterInput& input, const ClusterDecision& decision,
                                      const Applied& applied) {
  const Json& owner = input.owners.front();
  const StatusEdit edit = statuses_.EditOf(owner);
  const std::map<std::string, DaemonSetFacts> daemon_sets = view_.DaemonSets();
  const ClusterFacts cluster =
      Describable(input.seen.cluster, settings_.release.worker_pod, daemon_sets);
  NoteUndescribed(cluster.undescribed, TextAt(edit.before, "state") == "ready");
  const upgrade::UpgradeStatus upgrades = upgrades_.status();
  const VerdictInput judged = VerdictInputOf(
      input, decision,
      {.daemon_sets = daemon_sets,
       .cluster = cluster,
       .write_error = applied.status.has_value() ? "" : applied.status.error().message,
       .held = !applied.held.empty(),
       .upgrades = upgrades,
       .undescribed_awaited = !undescribed_.awaited.empty(),
       .outdated_definitions = OutdatedDefinitions()});
  const Verdict verdict = Judge(judged);
  {
    const std::lock_guard lock(mutex_);
    metrics_.gpu_nodes = cluster.gpu_nodes;
    metrics_.has_nfd_labels = cluster.described > 0;
    metrics_.toolkit = decision.toolkit;
    metrics_.Judged(verdict.state == "ready", clock_.Wall());
  }
  statuses_.RecordEvent(owner, verdict, recorded_);
  return {StatusOf(verdict, judged, edit), verdict.partly, {}};
}

Status Reconciler::WriteDrivers(const std::vector<Json>& drivers, const DriverPlan& plan,
                                const ClusterFacts& cluster, const Applied& applied) {
  const std::map<std::string, DaemonSetFacts> daemon_sets = view_.DaemonSets();
  const std::string write_error = applied.status.has_value() ? "" : applied.status.error().message;
  std::map<std::string, std::string> recorded;
  Status first;
  for (size_t i = 0; i < drivers.size(); ++i) {
    const Json& object = drivers[i];
    const Verdict verdict = JudgeDriver(plan.drivers[i], daemon_sets, cluster, write_error,
                                        WaitsForLabels(plan.drivers[i], applied.held));
    std::string& last = recorded[kube::UidOf(object)];
    last = recorded_drivers_[kube::UidOf(object)];
    statuses_.RecordEvent(object, verdict, last);
    Note(WriteStatus(policy::kNvidiaDriver, object,
                     BriefStatus(verdict, settings_.ns, statuses_.EditOf(object))),
         first);
  }
  recorded_drivers_ = std::move(recorded);
  return first;
}

// Makes the namespace admit privileged pods, if the policy says so.
Status Reconciler::LabelNamespace(const policy::ClusterPolicy& policy, const OpenShift& openshift) {
  // On OpenShift, administrators decide about other namespaces.
  const bool its_own = settings_.ns == "nvidia-gpu-operator";
  const bool privileged = policy.pod_security_labels && (!openshift.present() || its_own);
  const bool monitored = openshift.present() && its_own;
  if (!privileged && !monitored) {
    return {};
  }
  const std::optional<NamespaceFacts> ns = view_.Namespace();
  if (!ns.has_value()) {
    return {};
  }
  if (const Json patch = NamespacePatch(*ns, privileged, monitored); !patch.is_null()) {
    TRY(client_.MergePatch(kube::kinds::kNamespace, {"", settings_.ns}, patch));
  }
  return {};
}

void Reconciler::NoteUndescribed(const std::vector<std::string>& names, bool ready) {
  undescribed_ = NextUndescribed(undescribed_, names, ready, clock_.Now());
  if (undescribed_.next.has_value()) {
    RequeueAfter(std::chrono::ceil<std::chrono::milliseconds>(*undescribed_.next - clock_.Now()));
  }
}

std::vector<std::string> Reconciler::OutdatedDefinitions() {
  std::vector<std::string> outdated = view_.LookAtDefinitions();
  if (outdated != outdated_) {
    for (const std::string& text : outdated) {
      log::Warning("{}", text);
    }
    outdated_ = outdated;
  }
  return outdated;
}

// Any change of a DaemonSet makes its controller reconcile it.
Status Reconciler::AskForPods() {
  Status result;
  stalled_ = NextStalled(stalled_, view_.DaemonSets(), clock_.Now());
  for (const std::string& name : stalled_.due) {
    log::Warning("DaemonSet {} lacks pods for {} s; asking its controller to look again", name,
                 kStalls.count());
    auto asked = client_.MergePatch(
        kube::kinds::kDaemonSet, {settings_.ns, name},
        {{"metadata", {{"annotations", {{kAskedForPods, Rfc3339(clock_.Wall())}}}}}});
    if (!asked.has_value() && asked.error().kind != ErrorKind::kNotFound && result.has_value()) {
      result = std::unexpected(std::move(asked).error());
    }
  }
  if (stalled_.next.has_value()) {
    RequeueAfter(std::chrono::ceil<std::chrono::milliseconds>(*stalled_.next - clock_.Now()));
  }
  return result;
}

void Reconciler::RequeueAfter(std::chrono::milliseconds delay) {
  requeue_after_ = std::min(requeue_after_.value_or(delay), delay);
}

Status Reconciler::WriteStatus(const kube::Kind& kind, const Json& object, const Json& status) {
  TRY_ASSIGN(const auto delay, statuses_.WriteInGroups(kind, object, status));
  if (delay.has_value()) {
    RequeueAfter(*delay);
  }
  return {};
}

Status Reconciler::WriteIgnored(const kube::Kind& kind, const std::vector<Json>& policies) {
  Status first;
  for (size_t i = 1; i < policies.size(); ++i) {
    const Json& other = policies[i];
    Note(statuses_.Write(
             kind, other,
             IgnoredStatus(format("{} {}", kind.kind, TextAt(policies.front(), "metadata.name")),
                           statuses_.EditOf(other))),
         first);
  }
  return first;
}

Metrics Reconciler::metrics() const {
  const upgrade::UpgradeStatus upgrades = upgrades_.status();
  const NodeMetrics nodes = labeller_.metrics();
  const std::lock_guard lock(mutex_);
  Metrics metrics = metrics_;
  metrics.status_writes = statuses_.writes();
  metrics.node_writes = nodes.writes;
  metrics.nfd = nodes.nfd;
  metrics.auto_upgrade = upgrades.on;
  metrics.upgrades = upgrades.counts;
  return metrics;
}

}  // namespace gantry::gpu_operator
