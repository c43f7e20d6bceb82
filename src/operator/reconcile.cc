// SPDX-License-Identifier: Apache-2.0

// What is done when something changed? The whole state is worked out anew from the view and
// compared with it; nothing is written when they agree. The oldest ClusterPolicy counts, as with
// NVIDIA's operator, and the oldest GPUClusterPolicy is laid over it; the others say so in their
// status.

#include "operator/reconcile.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/log.h"
#include "base/text.h"
#include "operator/desired/driver_toolkit.h"
#include "operator/desired/monitoring.h"
#include "operator/desired/operands.h"
#include "operator/drivers_there.h"
#include "operator/pod_security.h"
#include "operator/startup_taint.h"
#include "policy/kinds.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

// The oldest first, ties by name. One that is being deleted takes its objects with it.
std::vector<Json> ByAge(std::vector<Json> policies) {
  std::erase_if(policies, [](const Json& object) {
    return At(object, "metadata.deletionTimestamp") != nullptr;
  });
  std::ranges::sort(policies, {}, [](const Json& object) {
    return std::pair(TextAt(object, "metadata.creationTimestamp"), TextAt(object, "metadata.name"));
  });
  return policies;
}

Json StatusIn(const Json& object) {
  const Json* status = At(object, "status");
  return status == nullptr ? Json() : *status;
}

// An event's reason.
constexpr char kRuleFailed[] = "NodeFeatureRuleFailed";

// While a thousand pods start, the counts in the messages change with each.
constexpr std::chrono::seconds kMessageInterval(5);

StatusEdit EditOf(const Json& object, const Clock& clock) {
  return {StatusIn(object), IntAt(object, "metadata.generation", 0), clock.Wall()};
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

// Why NVIDIADrivers don't count; empty: they do.
std::string DriversOff(const Json& owner, const policy::ClusterPolicy& policy) {
  return owner.is_null() || policy.driver_options.crd
             ? ""
             : format("driver.useNvidiaDriverCRD of {} {} is off", TextAt(owner, "kind"),
                      TextAt(owner, "metadata.name"));
}

std::set<std::string> UidsOf(const std::vector<Json>& objects) {
  std::set<std::string> uids;
  for (const Json& object : objects) {
    uids.insert(kube::UidOf(object));
  }
  return uids;
}

// All of them own what is made: the garbage collector ends pods within milliseconds when the only
// owner of their DaemonSet goes, before anybody could give it another.
Json ReferencesTo(const std::vector<Json>& owners) {
  Json references = Json::array();
  for (const Json& owner : owners) {
    references.push_back(kube::OwnerReference(owner, references.empty()));
  }
  return references;
}

// All that is to be there; the objects are others'.
struct Desired {
  std::vector<const Json*> objects;
  std::set<Incomplete> incomplete;  // what can't be made
  std::vector<Double> doubles;
};

Desired AllOf(const std::vector<Json>& owners, const std::vector<DesiredOperand>& operands,
              const DriverPlan& drivers) {
  Desired desired;
  const auto add = [&](const Objects& objects) {
    std::ranges::transform(objects, std::back_inserter(desired.objects),
                           [](const Json& object) { return &object; });
  };
  for (const DesiredOperand& operand : operands) {
    add(operand.objects);
    for (const Json& owner : owners) {
      if (!IsWhole(operand)) {
        desired.incomplete.insert({kube::UidOf(owner), std::string(operand.operand->state)});
      }
    }
  }
  for (const DriverOutcome& driver : drivers.drivers) {
    add(driver.objects);
    if (!IsWhole(driver)) {
      desired.incomplete.insert({driver.uid});
    }
  }
  add(drivers.shared);
  desired.doubles = TakeOutDoubles(desired.objects, desired.incomplete);
  return desired;
}

// To the NVIDIADrivers that they concern.
void TellDoubles(const std::vector<Double>& doubles, DriverPlan& plan) {
  for (const Double& twice : doubles) {
    for (DriverOutcome& driver : plan.drivers) {
      if (twice.owners.contains(driver.uid)) {
        driver.state = "notReady";
        driver.reason = "ReconcileFailed";
        driver.message = twice.message;
      }
    }
  }
}

// Whether the workers of node feature discovery are to be on some nodes only.
bool ChoosesNodes(const Json& worker_pod) {
  return std::ranges::any_of(
      std::to_array<const char*>({"nodeSelector", "affinity", "tolerations"}),
      [&](const char* key) { return At(worker_pod, key) != nullptr; });
}

// Whether as many nodes are described as there are to be workers.
bool AreDescribed(const ClusterFacts& cluster,
                  const std::map<std::string, DaemonSetFacts>& daemon_sets) {
  const auto workers =
      daemon_sets.find(std::string(policy::OperandOf(policy::OperandId::kNodeFeatures).daemon_set));
  return workers != daemon_sets.end() && cluster.described >= workers->second.desired;
}

// What the status says, the operator that ran before this one has told.
bool SaysAlready(const Json& status, const Verdict& verdict) {
  const Json* conditions = At(status, "conditions");
  return TextAt(status, "state") == verdict.state && conditions != nullptr &&
         std::ranges::any_of(*conditions, [&](const Json& condition) {
           return TextAt(condition, "reason") == verdict.reason;
         });
}

}  // namespace

Reconciler::Reconciler(kube::Client& client, View& view, kube::EventRecorder& events,
                       upgrade::Actor& upgrades, Settings settings,
                       std::function<void(const std::string&)> relabel,
                       std::function<void()> labelled, const Clock& clock)
    : client_(client),
      view_(view),
      events_(events),
      upgrades_(upgrades),
      settings_(std::move(settings)),
      relabel_(std::move(relabel)),
      labelled_(std::move(labelled)),
      clock_(clock),
      applier_(client, view) {
  metrics_.nfd.started = std::chrono::system_clock::to_time_t(clock_.Wall());
}

kube::Outcome Reconciler::Cluster() {
  const std::vector<Json> policies = ByAge(view_.Policies());
  const std::vector<Json> short_forms = ByAge(view_.ShortPolicies());
  const std::vector<Json> drivers = ByName(view_.Drivers());
  const bool no_policy = policies.empty() && short_forms.empty();
  const bool nothing_asked = no_policy && drivers.empty();
  {
    const std::lock_guard lock(mutex_);
    ++metrics_.reconciles;
    metrics_.status = no_policy ? -1 : metrics_.status;
    if (nothing_asked) {
      rules_.reset();
      untried_.clear();
    }
  }
  if (nothing_asked) {
    upgrades_.SetPolicies({});
  }
  requeue_after_.reset();
  Status result;
  const auto note = [&](Status wrote) {
    if (result.has_value()) {
      result = std::move(wrote);
    }
  };
  if (no_policy && !drivers.empty()) {
    note(Follow({}, {Json::object(), {}}, drivers).carried);
  }
  if (!no_policy) {
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
    Followed followed = Follow(owners, asked, drivers);
    note(std::move(followed.carried));
    if (!policies.empty()) {
      note(WriteFollowed(policy::kClusterPolicy, policy, followed.status));
    }
    if (!short_forms.empty()) {
      const Json& short_form = short_forms.front();
      note(WriteFollowed(
          policy::kGpuClusterPolicy, short_form,
          ShortFormStatus(followed.status, followed.partly, EditOf(short_form, clock_))));
    }
  }
  note(WriteIgnored(policy::kClusterPolicy, policies));
  note(WriteIgnored(policy::kGpuClusterPolicy, short_forms));
  for (const Json& cluster : view_.GpuClusters()) {
    note(WriteStatus(policy::kGpuCluster, cluster,
                     GpuClusterStatus(settings_.space, EditOf(cluster, clock_))));
  }
  note(AskForPods());
  if (!result.has_value()) {
    return std::move(result).error();
  }
  if (foreign_.silent_since.has_value()) {
    RequeueAfter(kTakeoverDelay);
  }
  return requeue_after_.has_value() ? kube::Outcome(kube::RetryAfter{*requeue_after_})
                                    : kube::Done{};
}

void Reconciler::RequeueAfter(std::chrono::milliseconds delay) {
  requeue_after_ = std::min(requeue_after_.value_or(delay), delay);
}

void Reconciler::LookAtUndescribed(const std::vector<std::string>& names, bool ready) {
  undescribed_ = NextUndescribed(undescribed_, names, ready, clock_.Now());
  if (undescribed_.next.has_value()) {
    RequeueAfter(std::chrono::ceil<std::chrono::milliseconds>(*undescribed_.next - clock_.Now()));
  }
}

std::vector<std::string> Reconciler::LookAtDefinitions() {
  std::vector<std::string> outdated = view_.LookAtDefinitions();
  if (outdated != outdated_) {
    for (const std::string& text : outdated) {
      log::Warning("{}", text);
    }
    outdated_ = outdated;
  }
  return outdated;
}

// Any change of a DaemonSet makes its controller look at it.
Status Reconciler::AskForPods() {
  Status result;
  stalled_ = NextStalled(stalled_, view_.DaemonSets(), clock_.Now());
  for (const std::string& name : stalled_.due) {
    log::Warning("DaemonSet {} lacks pods for {} s; asking its controller to look again", name,
                 kStalls.count());
    auto asked = client_.MergePatch(
        kube::kinds::kDaemonSet, {settings_.space, name},
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

Status Reconciler::WriteIgnored(const kube::Kind& kind, const std::vector<Json>& policies) {
  Status result;
  for (size_t i = 1; i < policies.size(); ++i) {
    const Json& other = policies[i];
    Status wrote = WriteStatus(
        kind, other,
        IgnoredStatus(format("{} {}", kind.kind, TextAt(policies.front(), "metadata.name")),
                      EditOf(other, clock_)));
    if (result.has_value()) {
      result = std::move(wrote);
    }
  }
  return result;
}

Reconciler::Followed Reconciler::Follow(const std::vector<Json>& owners,
                                        const policy::LaidOver& asked,
                                        const std::vector<Json>& drivers) {
  const Json owner = owners.empty() ? Json() : owners.front();
  const Json before = StatusIn(owner);
  auto parsed = policy::Parse(asked.policy);
  if (!parsed.has_value()) {
    const Verdict verdict = JudgeInvalid(parsed.error().message);
    {
      const std::lock_guard lock(mutex_);
      metrics_.Judged(false, clock_.Wall());
    }
    RecordEvent(owner, verdict, announced_);
    return {BriefStatus(verdict, settings_.space, EditOf(owner, clock_)), verdict.partly, {}};
  }
  Json more_tolerations = Json::array();
  if (!settings_.startup_taint.empty()) {
    more_tolerations.push_back({{"key", settings_.startup_taint}, {"operator", "Exists"}});
    parsed->tolerations.push_back(more_tolerations.front());
  }
  const auto nodes = view_.Nodes();
  NamedNodes named;
  for (const auto& [name, facts] : nodes) {
    named.emplace_back(name, facts.get());
  }
  ClusterFacts cluster = Summarize(
      named, parsed->tolerations, [this](const std::string& node) { return view_.BrokenOf(node); });
  foreign_ = NextForeignNfd(foreign_, cluster.foreign_nfd || view_.ForeignFeatures(), clock_.Now());
  // Instances are made to be side by side.
  const bool foreign = foreign_.at_work && settings_.master.nodes.instance.empty();

  const std::string drivers_off = DriversOff(owner, *parsed);
  const bool drivers_on = drivers_off.empty();
  std::set<std::string> map_names = NamedConfigMaps(*parsed);
  if (drivers_on) {
    map_names.merge(NamedConfigMaps(drivers));
  }
  const View::ConfigMaps config_maps = view_.LookAtConfigMaps(map_names);
  const OpenShift openshift = view_.LookAtOpenShift();
  const bool toolkit =
      DecideToolkit(*parsed, openshift, cluster.rhcos, cluster.system_known).enabled == 1;
  const DriversByNode division =
      LookAtDrivers(view_, applier_, settings_.space, *parsed, toolkit, named);
  const Context context{
      .policy = *parsed,
      .space = settings_.space,
      .release = settings_.release,
      .runtime = openshift.present() ? "crio"
                                     : RuntimeFor(cluster, RuntimeThere(applier_, settings_.space)),
      .owners = ReferencesTo(owners),
      .drivers = division.own.parts,
      .host_drivers = division.host.parts,
      .monitoring = view_.LookAtMonitoring(),
      .openshift = openshift,
      .config_maps = config_maps.keys};
  DriverPlan driver_plan = PlanDrivers(
      {.objects = drivers,
       .off = drivers_off,
       .selections =
           view_.LookAtSelections(drivers_on ? SelectorsOf(drivers) : std::set<std::string>()),
       .nodes = named,
       .tolerations = more_tolerations},
      context);
  LabelRules rules = RulesOf(*parsed, foreign || !settings_.master.publish);
  const upgrade::Policies upgraded = UpgradesOf(*parsed, driver_plan);
  for (const auto& [driver, upgrade] : upgraded) {
    if (!driver.empty()) {
      rules.upgraded_drivers.insert(driver);
    }
  }
  upgrades_.SetPolicies(upgraded);
  // DaemonSets that are still there would end their pods with the label that they select by.
  rules.driver_systems |= division.any_there;
  if (!parsed->driver_options.crd) {
    rules.open_drivers = division.own.open;
    std::ranges::copy(division.host.open, std::back_inserter(rules.open_drivers));
  }

  const bool node_features = settings_.node_features && !foreign;
  const std::vector<DesiredOperand>& operands = OperandsFor(context, node_features);
  rules.validated = std::ranges::any_of(operands, [](const DesiredOperand& each) {
    return each.operand->id == policy::OperandId::kOperatorValidation && !each.theirs;
  });
  const Desired desired = AllOf(owners, operands, driver_plan);
  TellDoubles(desired.doubles, driver_plan);
  Plan plan = applier_.Compare(desired.objects, desired.incomplete);
  if (!plan.remove.empty()) {
    HandOver(drivers_on, applier_.Owned(plan.remove), UidsOf(drivers), plan);
  }
  // A DaemonSet that is still there would end its pods with the label that it selects by.
  const bool labelled = SetRules(rules, plan.orphan.empty() ? driver_plan.owners : UnknownOwners());
  const bool held = !labelled && !plan.empty();
  Status carried = held ? Status{} : applier_.Apply(plan);
  if (Status opened = LabelNamespace(*parsed, openshift); carried.has_value()) {
    carried = std::move(opened);
  }

  std::string write_error = carried.has_value() ? "" : carried.error().message;
  const Plan nothing;
  if (Status wrote =
          WriteDrivers(drivers, driver_plan, cluster, write_error, held ? plan : nothing);
      carried.has_value()) {
    carried = std::move(wrote);
  }
  if (owner.is_null()) {
    return {{}, {}, std::move(carried)};
  }
  for (const Double& twice : desired.doubles) {
    if (write_error.empty() && twice.owners.contains(kube::UidOf(owner))) {
      write_error = twice.message;
    }
  }
  const std::map<std::string, DaemonSetFacts> daemon_sets = view_.DaemonSets();
  VerdictInput input;
  input.left_out = {{policy::OperandId::kDriver, division.own.left_out},
                    {policy::OperandId::kVgpuManager, division.host.left_out}};
  input.other_runtimes = OtherRuntimes(cluster, context.runtime);
  input.operands = &operands;
  input.daemon_sets = &daemon_sets;
  input.cluster = &cluster;
  if (ChoosesNodes(settings_.release.worker_pod) && AreDescribed(cluster, daemon_sets)) {
    cluster.undescribed.clear();  // where no worker is to run nothing is missed
  }
  LookAtUndescribed(cluster.undescribed, TextAt(before, "state") == "ready");
  input.undescribed_awaited = !undescribed_.awaited.empty();
  input.outdated_definitions = LookAtDefinitions();
  input.values_not_known = settings_.values_not_known;
  input.values_not_followed = settings_.values_not_followed;
  input.unsupported_fields = policy::UnsupportedFields(asked.policy);
  input.overridden_fields = asked.overridden;
  input.fields_in_vain = asked.in_vain;
  input.monitors_that_cant_be = MonitorsThatCantBe(context);
  input.space = settings_.space;
  input.kubelet_root = parsed->kubelet_root;
  input.node_features_ours = node_features;
  input.labelling = held;
  const upgrade::UpgradeStatus upgrades = upgrades_.status();
  input.driver_upgrades = upgrades.status;
  if (const Json* known = At(before, "driverUpgrades");
      known != nullptr && !upgraded.empty() && !upgrades.on) {
    input.driver_upgrades = *known;  // this process has not looked at them yet
  }
  input.driver_upgrades_summary = upgrades.summary;
  input.drivers_unfinished = parsed->driver_options.crd && upgrades.unfinished;
  if (config_maps.missing.contains(parsed->config_name)) {
    input.missing_config = parsed->config_name;
  }
  input.write_error = write_error;
  const Verdict verdict = Judge(input);
  {
    const std::lock_guard lock(mutex_);
    metrics_.gpu_nodes = cluster.gpu_nodes;
    metrics_.has_nfd_labels = cluster.described > 0;
    metrics_.toolkit = DecideToolkit(*parsed, openshift, cluster.rhcos, cluster.system_known);
    metrics_.Judged(verdict.state == "ready", clock_.Wall());
    metrics_.object_writes +=
        held
            ? 0
            : static_cast<long long>(plan.create.size() + plan.replace.size() + plan.remove.size());
  }
  RecordEvent(owner, verdict, announced_);
  return {StatusOf(verdict, input, EditOf(owner, clock_)), verdict.partly, std::move(carried)};
}

const std::vector<DesiredOperand>& Reconciler::OperandsFor(const Context& context,
                                                           bool node_features) {
  if (!made_.has_value() || made_->context != context || made_->node_features != node_features) {
    made_ = {context, node_features,
             context.owners.empty() ? std::vector<DesiredOperand>()
                                    : DesiredOperands(context, node_features)};
  }
  return made_->operands;
}

Status Reconciler::WriteFollowed(const kube::Kind& kind, const Json& object, const Json& status) {
  const Json before = StatusIn(object);
  if (SameStatus(before, status)) {
    return {};
  }
  const auto since =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Now() - status_written_);
  if (SameButMessages(before, status) && since < kMessageInterval) {
    RequeueAfter(kMessageInterval - since);
    return {};
  }
  TRY(WriteStatus(kind, object, status));
  status_written_ = clock_.Now();
  return {};
}

// Lets privileged pods into the namespace, if the policy says so.
Status Reconciler::LabelNamespace(const policy::ClusterPolicy& policy, const OpenShift& openshift) {
  // On OpenShift other namespaces are their administrators' business.
  const bool its_own = settings_.space == "nvidia-gpu-operator";
  const bool privileged = policy.pod_security_labels && (!openshift.present() || its_own);
  const bool monitored = openshift.present() && its_own;
  if (!privileged && !monitored) {
    return {};
  }
  const std::optional<SpaceFacts> space = view_.Space();
  if (!space.has_value()) {
    return {};
  }
  if (const Json patch = NamespacePatch(*space, privileged, monitored); !patch.is_null()) {
    TRY(client_.MergePatch(kube::kinds::kNamespace, {"", settings_.space}, patch));
  }
  return {};
}

Status Reconciler::WriteStatus(const kube::Kind& kind, const Json& object, const Json& status) {
  const Json before = StatusIn(object);
  if (SameStatus(before, status)) {
    return {};
  }
  auto stored = client_.MergePatch(kind, kube::KeyOf(object),
                                   {{"status", StatusPatch(before, status)}}, kube::Part::kStatus);
  if (!stored.has_value()) {
    return stored.error().kind == ErrorKind::kNotFound
               ? Status{}
               : Status(std::unexpected(std::move(stored).error()));
  }
  const std::lock_guard lock(mutex_);
  ++metrics_.status_writes;
  return {};
}

void Reconciler::RecordEvent(const Json& object, const Verdict& verdict, std::string& announced) {
  const std::string now = verdict.state + " " + verdict.reason;
  const bool told = announced.empty() ? SaysAlready(StatusIn(object), verdict) : announced == now;
  announced = now;
  if (told) {
    return;
  }
  log::Info("{} {}: {} ({}): {}", TextAt(object, "kind"), TextAt(object, "metadata.name"),
            verdict.state, verdict.reason, verdict.message);
  if (verdict.state == "ready") {
    events_.Normal(object, verdict.reason, verdict.message);
  } else {
    events_.Warning(object, verdict.reason, verdict.message);
  }
}

Status Reconciler::WriteDrivers(const std::vector<Json>& drivers, const DriverPlan& plan,
                                const ClusterFacts& cluster, const std::string& write_error,
                                const Plan& held) {
  const std::map<std::string, DaemonSetFacts> daemon_sets = view_.DaemonSets();
  std::map<std::string, std::string> announced;
  Status result;
  for (size_t i = 0; i < drivers.size(); ++i) {
    const Json& object = drivers[i];
    const Verdict verdict = JudgeDriver(plan.drivers[i], daemon_sets, cluster, write_error,
                                        WaitsForLabels(plan.drivers[i], held));
    std::string& told = announced[kube::UidOf(object)];
    told = announced_drivers_[kube::UidOf(object)];
    RecordEvent(object, verdict, told);
    Status wrote = WriteFollowed(policy::kNvidiaDriver, object,
                                 BriefStatus(verdict, settings_.space, EditOf(object, clock_)));
    if (result.has_value()) {
      result = std::move(wrote);
    }
  }
  announced_drivers_ = std::move(announced);
  return result;
}

bool Reconciler::SetRules(const LabelRules& rules, const DriverOwners& owners) {
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

kube::Outcome Reconciler::Node(const std::string& name) {
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

kube::Outcome Reconciler::Label(const std::string& name) {
  const auto node = view_.Node(name);
  const std::shared_ptr<const RuleSet> rule_set = view_.Rules();
  TellFailures("", rule_set->mistakes);
  if (node == nullptr) {
    TellFailures(name, {});
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
  TellFailures(name, says.outputs.mistakes);
  // One in a namespace that was chosen once is there, and has merely no say any more.
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
  Status wrote = WriteNode(name, change, taint);
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

// An empty name: of rules that can't be read.
void Reconciler::TellFailures(const std::string& node,
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

// One write, and a second one only for extended resources, which stand in the status.
Status Reconciler::WriteNode(const std::string& name, const NodeChange& change,
                             const TaintChange& taint) {
  const kube::Key key{"", name};
  if (!change.resources.empty()) {
    TRY(client_.MergePatch(kube::kinds::kNode, key, ResourcePatchOf(change), kube::Part::kStatus));
  }
  Json patch = PatchOf(change);
  if (!change.taint.empty() || !change.untaint.empty() || !taint.empty()) {
    // The list of taints is replaced as a whole: only if nobody else has changed it since.
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
    ++metrics_.node_writes;
  }
  view_.WroteNode(stored);
  return {};
}

// What a node that is gone for good has left.
kube::Outcome Reconciler::CollectGarbage(const std::string& node) {
  const FeatureStore::Features features = view_.FeaturesOf(node);
  {
    const std::lock_guard lock(mutex_);
    if (features.empty()) {
      gone_.Forget(node);
      return kube::Done{};
    }
    if (const auto rest = gone_.Missed(node, clock_.Now()); rest.count() > 0) {
      return kube::RetryAfter{rest};
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
    if (key.space.empty()) {
      key.space = settings_.space;
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

Metrics Reconciler::metrics() const {
  const upgrade::UpgradeStatus upgrades = upgrades_.status();
  const std::lock_guard lock(mutex_);
  Metrics metrics = metrics_;
  metrics.auto_upgrade = upgrades.on;
  metrics.upgrades = upgrades.counts;
  return metrics;
}

}  // namespace gantry::gpu_operator
