// SPDX-License-Identifier: Apache-2.0
// Reading a live cluster for the doctor: nodes, waiting pods, warnings, operands, policies, each
// once, one object in memory at a time. What they mean is decided in the findings. An event may be
// an hour old, so what it is about is read again: only what still holds is a fact.
#include "doctor/read_cluster.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "doctor/controller_facts.h"
#include "doctor/node_stage.h"
#include "doctor/object_fields.h"
#include "doctor/part_facts.h"
#include "doctor/pod_facts.h"
#include "doctor/policy_facts.h"
#include "doctor/refusal_findings.h"
#include "doctor/start_findings.h"
#include "doctor/workload_findings.h"
#include "kube/path.h"
#include "policy/kinds.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

// Older warnings about objects whose state the doctor cannot read are history.
constexpr std::chrono::minutes kFresh(30);
// Of a thousand pods with one cause, some tell it as well.
constexpr size_t kMostPods = 50;
constexpr size_t kMostLogs = 20;  // of operands, and of workloads
constexpr size_t kLogsOfOne = 2;  // of one container of an operand, on whichever nodes
// A shell that traces writes many lines after the cause. A compiler's are long; the API server
// leaves out the last ones of too many bytes.
constexpr long long kLogLines = 200;
constexpr long long kLogBytes = 256 * 1024;
// A node that is away lets the API server wait much longer.
constexpr std::chrono::seconds kLogTimeout(5);

// What an event is about, by kind and key.
struct Involved {
  std::string kind;
  kube::Key key;
  auto operator<=>(const Involved&) const = default;
};

// Failed runs among the pods of an owner, or of one that has none.
struct FailedFacts {
  std::vector<ContainerFacts> runs;
  std::optional<kube::Key> job = {};  // of Kubernetes' own kind
  bool told = false;                  // one of them says why
};

struct Told {
  std::string message;
  std::string last_seen;  // RFC 3339
};

void KeepNewest(Told& kept, Told told) {
  if (told.last_seen >= kept.last_seen) {
    kept = std::move(told);
  }
}

std::optional<kube::Kind> ControllerKind(std::string_view kind) {
  for (const kube::Kind& each : {kube::kinds::kReplicaSet, kube::kinds::kJob,
                                 kube::kinds::kStatefulSet, kube::kinds::kDaemonSet}) {
    if (each.kind == kind) {
      return each;
    }
  }
  return std::nullopt;
}

Status StatusOf(const Result<Json>& object) {
  return object.has_value() ? Status() : Status(std::unexpected(object.error()));
}

class Reader {
 public:
  Reader(kube::Client& client, std::string space, std::stop_token stop = {})
      : client_(client),
        log_client_(client.Bounded(std::move(stop), kLogTimeout)),
        space_(std::move(space)) {
    cluster_.now = RealClock().Wall();
    if (const char* own = std::getenv(names::kOperatorNamespace); own != nullptr) {
      cluster_.own_space = own;
    }
  }

  // What can't be read costs its own findings. A server that has not answered once is none.
  Result<ClusterFacts> ForDoctor() {
    struct Step {
      const char* what;
      Status (Reader::*read)();
    };
    static constexpr std::array kSteps = std::to_array<Step>({
        {kNodesPart, &Reader::ReadNodes},
        {kPoliciesPart, &Reader::ReadPolicies},
        {"NVIDIADrivers", &Reader::ReadDrivers},
        {kDaemonSetsPart, &Reader::ReadDaemonSets},
        {kDeploymentsPart, &Reader::ReadDeployments},
        {"the operator's lease", &Reader::ReadLease},
        {"pods that hold GPUs", &Reader::ReadHolders},
        {kEventsPart, &Reader::ReadWarnings},
        {"the operator's pods", &Reader::ReadOperandPods},
        {"pods that wait", &Reader::ReadPending},
        {"pods that an autoscaler brings nodes for", &Reader::ReadScaleUps},
        {"pods that failed", &Reader::ReadFailed},
        {"pods that are refused", &Reader::AddRefusals},
        {"pods that are not started", &Reader::AddStarts},
        {"pods that end again and again", &Reader::AddRestarting},
        {"pods that failed before", &Reader::AddEarlierRuns},
        {"the device plugin's configuration", &Reader::ReadConfigs},
    });
    for (const Step& step : kSteps) {
      if (const Status read = (this->*step.read)(); !read.has_value()) {
        if (!answered_) {
          return std::unexpected(read.error());
        }
        cluster_.unread.push_back({.what = step.what, .error = read.error()});
      }
    }
    CountNodeFeatures();
    return std::move(cluster_);
  }

  Result<ClusterFacts> ForStatus() {
    TRY(ReadPolicies());
    TRY(ReadDaemonSets());
    TRY(ReadNodes());
    return std::move(cluster_);
  }

 private:
  // A missing right is a fact; a missing kind is an empty list (no ClusterPolicy is a finding).
  Status Take(const std::string& what, const Status& status) {
    answered_ = answered_ || status.has_value();
    if (status.has_value() || status.error().kind == ErrorKind::kNotFound) {
      return {};
    }
    if (status.error().kind != ErrorKind::kDenied) {
      return status;
    }
    cluster_.unread.push_back({.what = what, .error = status.error()});
    return {};
  }

  Status List(const kube::Kind& kind, const kube::Selection& selection,
              const kube::Client::ItemSink& item) {
    TRY(client_.List(kind, selection, item));
    return {};
  }

  // The short form alone is followed too.
  Status ReadPolicies() {
    for (const kube::Kind& kind : {policy::kClusterPolicy, policy::kGpuClusterPolicy}) {
      if (cluster_.policies.empty()) {
        TRY(Take(kPoliciesPart, List(kind, {}, [this](const Json& policy) {
                   cluster_.policies.push_back(PolicyFrom(policy));
                 })));
      }
    }
    return {};
  }

  Status ReadDrivers() {
    return Take("NVIDIADrivers", List(policy::kNvidiaDriver, {}, [this](const Json& driver) {
                  cluster_.drivers.push_back(PolicyFrom(driver));
                }));
  }

  Status ReadDaemonSets() {
    const auto take = [this](const Json& daemon_set) {
      if (std::optional<OperandFacts> operand = OperandFrom(daemon_set)) {
        cluster_.operands.push_back(*std::move(operand));
      }
      AddPart(daemon_set);
    };
    Status listed = List(kube::kinds::kDaemonSet, {}, take);
    if (const std::string space = OperatorSpace(cluster_); !listed.has_value() && !space.empty()) {
      TRY(Take(kAllDaemonSetsPart, listed));
      listed = List(kube::kinds::kDaemonSet, {.space = space}, take);
    }
    return Take(kDaemonSetsPart, listed);
  }

  void AddPart(const Json& object) {
    if (std::optional<PartFacts> part = PartFrom(object)) {
      cluster_.parts.push_back(*std::move(part));
    }
  }

  Status ReadNodes() {
    return Take(kNodesPart, List(kube::kinds::kNode, {}, [this](const Json& node) {
                  cluster_.nodes.push_back(NodeFrom(node));
                }));
  }

  // Of nodes whose MIG layout is being changed: pods that the change waits for.
  Status ReadHolders() {
    size_t asked = 0;
    for (NodeFacts& node : cluster_.nodes) {
      if (ValueOf(node, names::kMigConfigState) != "pending" || ++asked > kMostPods) {
        continue;
      }
      const kube::Selection running{.fields =
                                        format("status.phase=Running,spec.nodeName={}", node.name)};
      TRY(Take("pods of node " + node.name,
               List(kube::kinds::kPod, running, [&node](const Json& pod) {
                 if (!PodWants(pod).empty()) {
                   node.holders.push_back(kube::KeyOf(pod).Text());
                 }
               })));
    }
    return {};
  }

  Status ReadDeployments() {
    return Take(
        kDeploymentsPart, List(kube::kinds::kDeployment, {}, [this](const Json& deployment) {
          const std::string* component = kube::LabelOf(deployment, "app.kubernetes.io/component");
          if (component != nullptr && *component == "gpu-operator") {
            cluster_.operators.push_back(OperatorFrom(deployment));
          }
          AddPart(deployment);
        }));
  }

  // One that runs outside of the cluster, or by another's Deployment, renews it too. Who may not
  // see it does not miss it.
  Status ReadLease() {
    const std::string space = OperatorSpace(cluster_);
    if (!cluster_.operators.empty() || space.empty()) {
      return {};
    }
    const Result<Json> lease = client_.Get(kube::kinds::kLease, {space, names::kOperatorLease});
    if (lease.has_value()) {
      cluster_.lease_renewed = TextAt(*lease, "spec.renewTime");
    } else if (lease.error().kind == ErrorKind::kNotFound) {
      cluster_.lease_renewed = "";
    } else if (lease.error().kind != ErrorKind::kDenied) {
      return std::unexpected(lease.error());
    }
    return {};
  }

  Status ReadOperandPods() {
    const std::string operator_space = OperatorSpace(cluster_);
    if (operator_space.empty()) {
      return {};
    }
    TRY(Take("pods of namespace " + operator_space,
             List(kube::kinds::kPod, {.space = operator_space}, [this](const Json& pod) {
               if (!IsOperandPod(cluster_, pod)) {
                 guests_.insert(kube::KeyOf(pod));
                 return;
               }
               NoteDriver(pod);
               NoteUnready(pod);
               for (ContainerFacts& container : TroubledContainers(pod)) {
                 Explain(pod, container);
                 cluster_.operand_containers.push_back(std::move(container));
               }
             })));
    size_t asked = 0;
    std::map<std::pair<std::string, std::string>, size_t> read;  // app and container
    for (ContainerFacts& container : cluster_.operand_containers) {
      size_t& of_one = read[{container.app, container.container}];
      if (EndsAgain(container, cluster_.now) && of_one < kLogsOfOne) {
        TRY(ReadLog(container, asked));
        of_one += container.log.empty() ? 0 : 1;
      }
    }
    return {};
  }

  void NoteDriver(const Json& pod) {
    const Json* controller = ControllerOf(pod);
    if (controller != nullptr && BringsDriver(TextAt(*controller, "name"))) {
      std::string& begun = cluster_.drivers_begun[TextAt(pod, "spec.nodeName")];
      begun = std::max(begun, BegunAt(pod));
    }
  }

  void NoteUnready(const Json& pod) {
    const Json* controller = ControllerOf(pod);
    const auto operand = controller == nullptr
                             ? cluster_.operands.end()
                             : std::ranges::find(cluster_.operands, TextAt(*controller, "name"),
                                                 &OperandFacts::name);
    if (operand == cluster_.operands.end()) {
      return;
    }
    const std::string node = TextAt(pod, "spec.nodeName");
    if (IsNew(cluster_, UnreadySince(pod))) {
      operand->young.push_back(node);
    } else if (node.empty()) {
      operand->scheduler = PodFrom(pod).scheduler;
    }
  }

  // What its status does not say: before Kubernetes 1.32 why an image is not pulled, and why a pod
  // has no sandbox, or not its volumes.
  void Explain(const Json& pod, ContainerFacts& container) const {
    const kube::Key key = kube::KeyOf(pod);
    const auto pull = pulls_.find(key);
    if (pull != pulls_.end() && container.message.ends_with('"') &&
        pull->second.message.find('"' + container.image + '"') != std::string::npos) {
      container.message += ": " + pull->second.message;
    }
    if (const auto secrets = secrets_.find(key);
        secrets != secrets_.end() && IsFresh(secrets->second)) {
      container.lacks_secrets = secrets->second.message;
    }
    if (!container.message.empty() || !IsStarting(pod)) {
      return;
    }
    for (const auto* told : {&mounts_, &unstarted_}) {
      if (const auto at = told->find(key); at != told->end()) {
        container.message = at->second.message;
      }
    }
  }

  // The end of what its failed run wrote; `asked` counts. A kubelet that does not answer leaves it
  // empty, and is not asked again.
  Status ReadLog(ContainerFacts& container, size_t& asked) {
    if (asked == kMostLogs || silent_.contains(container.node)) {
      return {};
    }
    ++asked;
    Result<std::string> log =
        log_client_->Log({container.space, container.pod}, {.container = container.container,
                                                            .previous = !container.over,
                                                            .tail_lines = kLogLines,
                                                            .limit_bytes = kLogBytes});
    if (log.has_value()) {
      container.log = *std::move(log);
    } else if (log.error().kind == ErrorKind::kDenied) {
      asked = kMostLogs;
      return Take("logs", std::unexpected(log.error()));
    } else if (log.error().kind != ErrorKind::kInvalid) {
      silent_.insert(container.node);
    }
    return {};
  }

  Status ReadPending() {
    const kube::Selection waiting{.space = space_, .fields = "status.phase=Pending,spec.nodeName="};
    return Take("pods that wait", List(kube::kinds::kPod, waiting, [this](const Json& pod) {
                  PodFacts facts = PodFrom(pod);
                  if (!facts.wants.empty()) {
                    cluster_.pending.push_back(std::move(facts));
                  }
                }));
  }

  // As cluster-autoscaler and Karpenter tell it of the pods themselves.
  Status ReadScaleUps() {
    if (cluster_.pending.empty() || IsUnread(cluster_, kEventsPart)) {
      return {};
    }
    std::map<kube::Key, std::string> newest;
    for (const char* reason : {"TriggeredScaleUp", "Nominated"}) {
      const kube::Selection told{.space = space_,
                                 .fields = format("involvedObject.kind=Pod,reason={}", reason)};
      TRY(Take(kEventsPart, List(kube::kinds::kEvent, told, [&newest](const Json& event) {
                 std::string& at = newest[{TextAt(event, "involvedObject.namespace"),
                                           TextAt(event, "involvedObject.name")}];
                 at = std::max(at, LastSeen(event));
               })));
    }
    for (PodFacts& pod : cluster_.pending) {
      if (const auto at = newest.find({pod.space, pod.name}); at != newest.end()) {
        pod.scaled_at = at->second;
      }
    }
    return {};
  }

  Status ReadFailed() {
    const kube::Selection failed{.space = space_, .fields = "status.phase=Failed"};
    TRY(Take("pods that failed", List(kube::kinds::kPod, failed, [this](const Json& pod) {
               if (std::optional<RejectionFacts> rejection = RejectionFrom(pod)) {
                 cluster_.rejections.push_back(*std::move(rejection));
                 return;
               }
               if (!PodWants(pod).empty()) {
                 KeepRuns(pod);
               }
             })));
    size_t asked = 0;
    for (auto& [owner, failed_runs] : failed_) {
      if (++asked > kMostPods || IsDone(failed_runs)) {
        failed_runs.runs.clear();
      }
      TRY(AddRun(failed_runs, 0));
    }
    return {};
  }

  void KeepRuns(const Json& pod) {
    const kube::Key key = kube::KeyOf(pod);
    const std::string owner = OwnerOf(pod);
    std::optional<kube::Key> job;
    if (const Json* controller = ControllerOf(pod);
        controller != nullptr && TextAt(*controller, "apiVersion").starts_with("batch/")) {
      job = kube::Key{key.space, TextAt(*controller, "name")};
    }
    for (ContainerFacts& container : TroubledContainers(pod)) {
      if (FailsNow(container, cluster_.now)) {
        FailedFacts& failed = failed_[owner.empty() ? "Pod " + key.Text() : owner];
        failed.job = job;
        KeepTelling(failed.runs, std::move(container));
      }
    }
  }

  // What a Job has done after all is no trouble.
  bool IsDone(const FailedFacts& failed) {
    if (!failed.job) {
      return false;
    }
    const Result<Json> object = client_.Get(kube::kinds::kJob, *failed.job);
    return object.has_value() ? HasSucceeded(*object) : object.error().kind == ErrorKind::kNotFound;
  }

  Status AddRun(FailedFacts& failed, size_t index) {
    if (failed.told || index >= failed.runs.size()) {
      return {};
    }
    ContainerFacts& run = failed.runs[index];
    TRY(ReadLog(run, workload_logs_));
    failed.told = SaysWhy(cluster_, run);
    if (failed.told) {
      cluster_.workload_containers.push_back(std::move(run));
    }
    return {};
  }

  // Where the first run does not say why. Other pods come before.
  Status AddEarlierRuns() {
    for (size_t i = 1; i < kMostRuns; ++i) {
      for (auto& [owner, failed] : failed_) {
        TRY(AddRun(failed, i));
      }
    }
    return {};
  }

  Status AddWorkload(ContainerFacts& container) {
    TRY(ReadLog(container, workload_logs_));
    cluster_.workload_containers.push_back(std::move(container));
    return {};
  }

  // Events of the operator's namespace are read whichever workloads are asked for.
  bool IsAskedFor(const kube::Key& key) const { return space_.empty() || key.space == space_; }
  bool IsWorkload(const kube::Key& pod) const {
    return IsAskedFor(pod) && (pod.space != OperatorSpace(cluster_) || guests_.contains(pod));
  }

  void TakeWarning(const Json& event) {
    const std::string kind = TextAt(event, "involvedObject.kind");
    const std::string reason = TextAt(event, "reason");
    const kube::Key key{TextAt(event, "involvedObject.namespace"),
                        TextAt(event, "involvedObject.name")};
    const bool in_space = key.space == OperatorSpace(cluster_);
    Told told{MessageOf(event), LastSeen(event)};
    if (kind == "Node") {
      KeepNewest(verdicts_[{key.name, reason}], std::move(told));
    } else if (kind == "Pod") {
      if (StartFailure(told.message, true)) {
        KeepNewest(unstarted_[key], std::move(told));
      } else if (in_space && told.message.starts_with("Failed to pull image")) {
        KeepNewest(pulls_[key], std::move(told));
      } else if (in_space && told.message.starts_with("MountVolume")) {
        KeepNewest(mounts_[key], std::move(told));
      } else if (in_space && reason == "FailedToRetrieveImagePullSecret") {
        KeepNewest(secrets_[key], std::move(told));
      } else if (reason == "BackOff") {
        restarting_.insert(key);
      }
    } else if (in_space ? reason == "FailedCreate"
                        : ExamineRefusal({.object = "",
                                          .message = told.message,
                                          .wants_gpus = reason == "FailedCreate"})
                              .has_value()) {
      KeepNewest(refused_[{kind, key}], std::move(told));
    }
  }

  Status ReadWarnings() {
    // Operands count whichever workloads are asked for.
    std::set<std::string> spaces = {space_};
    if (!space_.empty() && !OperatorSpace(cluster_).empty()) {
      spaces.insert(OperatorSpace(cluster_));
    }
    const auto take = [this](const Json& event) { TakeWarning(event); };
    for (const std::string& space : spaces) {
      TRY(Take(kEventsPart,
               List(kube::kinds::kEvent, {.space = space, .fields = "type=Warning"}, take)));
    }
    // Where those of objects without a namespace are.
    if (!spaces.contains("") && !spaces.contains("default")) {
      const kube::Selection of_nodes{.space = "default",
                                     .fields = "type=Warning,involvedObject.kind=Node"};
      TRY(Take("events of nodes", List(kube::kinds::kEvent, of_nodes, take)));
    }
    for (NodeFacts& node : cluster_.nodes) {
      const auto told = verdicts_.find({node.name, ValueOf(node, names::kGpuValidation)});
      if (told != verdicts_.end()) {
        node.validator_says = told->second.message;
      }
      NoteNotOffered(node);
    }
    return {};
  }

  // What its device plugin told last of why it offers less than there is.
  void NoteNotOffered(NodeFacts& node) const {
    Told newest;
    for (const reasons::Reason& reason :
         {reasons::kGpuNotOffered, reasons::kInvalidDevicePluginConfig,
          reasons::kCdiDocumentNotWritten, reasons::kNvmlNotUsable}) {
      const auto told = verdicts_.find({node.name, reason.code});
      if (told != verdicts_.end() && told->second.last_seen >= newest.last_seen) {
        newest = told->second;
        node.not_offered = newest.message;
        node.not_offered_for = reason.code;
      }
    }
  }

  // Whether pods want GPUs many words do not say, and there may be many that don't.
  Status AddRefusals() {
    size_t asked = 0;
    for (const auto& [involved, told] : refused_) {
      const bool of_gpus = ExamineRefusal({.object = "", .message = told.message}).has_value();
      if (of_gpus || involved.key.space == OperatorSpace(cluster_) || ++asked <= kMostPods) {
        TRY(AddRefusal(involved, told));
      }
    }
    return {};
  }

  [[nodiscard]] bool IsFresh(const Told& told) const {
    return told.last_seen > Rfc3339(cluster_.now - kFresh);
  }

  // The workload that a user knows: a ReplicaSet's Deployment, a Job's CronJob. Nothing if the
  // object is gone or has its pods by now.
  Status AddRefusal(const Involved& involved, const Told& told) {
    const std::string itself = involved.kind + " " + involved.key.Text();
    const bool in_space = involved.key.space == OperatorSpace(cluster_);
    const std::optional<kube::Kind> kind = ControllerKind(involved.kind);
    const Result<Json> object =
        kind ? client_.Get(*kind, involved.key)
             : Result<Json>(Fail(ErrorKind::kUnsupported, involved.kind + ": not a kind of ours"));
    if (object.has_value()) {
      const bool operand = in_space && IsOperandController(cluster_, *object);
      // A Job without pods may wait before it tries again, for another reason.
      const bool now = involved.kind != "Job" || IsFresh(told);
      if (now && LacksPods(*object) && (operand || IsAskedFor(involved.key))) {
        const std::string owner = OwnerOf(*object);
        // An operand's DaemonSet is owned by the policy, which says less.
        const bool itself_known = owner.empty() || (operand && involved.kind == "DaemonSet");
        const Json* pods = At(*object, "spec.template");
        cluster_.refusals.push_back({.object = itself_known ? itself : owner,
                                     .message = told.message,
                                     .operand = operand,
                                     .wants_gpus = pods != nullptr && !PodWants(*pods).empty()});
      }
      return {};
    }
    switch (object.error().kind) {
      case ErrorKind::kNotFound:
        return {};
      case ErrorKind::kUnsupported:
      case ErrorKind::kDenied:
        if (IsFresh(told)) {
          cluster_.refusals.push_back(
              {.object = itself, .message = told.message, .operand = in_space});
        }
        return {};
      default:
        return std::unexpected(object.error());
    }
  }

  // Of operands their containers tell it.
  Status AddStarts() {
    size_t asked = 0;
    for (const auto& [key, told] : unstarted_) {
      if (!IsWorkload(key)) {
        continue;
      }
      if (++asked > kMostPods) {
        break;
      }
      const Result<Json> pod = client_.Get(kube::kinds::kPod, key);
      if (pod.has_value() && IsStarting(*pod)) {
        cluster_.starts.push_back({.object = "pod " + key.Text(),
                                   .node = TextAt(*pod, "spec.nodeName"),
                                   .message = told.message,
                                   .wants_gpus = !PodWants(*pod).empty()});
      }
      TRY(Take("pod " + key.Text(), StatusOf(pod)));
    }
    return {};
  }

  Status AddRestarting() {
    size_t asked = 0;
    for (const kube::Key& key : restarting_) {
      if (!IsWorkload(key)) {
        continue;
      }
      if (++asked > kMostPods) {
        break;
      }
      const Result<Json> pod = client_.Get(kube::kinds::kPod, key);
      TRY(Take("pod " + key.Text(), StatusOf(pod)));
      if (!pod.has_value() || PodWants(*pod).empty()) {
        continue;
      }
      for (ContainerFacts& container : TroubledContainers(*pod)) {
        if (FailsNow(container, cluster_.now)) {
          TRY(AddWorkload(container));
        }
      }
    }
    return {};
  }

  Status ReadConfigs() {
    for (PolicyFacts& policy : cluster_.policies) {
      if (policy.plugin_config.empty() || policy.space.empty() || policy.state == "ignored") {
        continue;
      }
      const Result<Json> config_map =
          client_.Get(kube::kinds::kConfigMap, {policy.space, policy.plugin_config});
      if (config_map.has_value()) {
        cluster_.configs = ConfigsFrom(*config_map);
      }
      policy.config_missing =
          !config_map.has_value() && config_map.error().kind == ErrorKind::kNotFound;
      TRY(Take("ConfigMap " + policy.plugin_config, StatusOf(config_map)));
    }
    return {};
  }

  // One object tells how many there are. Who may not list them does not miss it.
  void CountNodeFeatures() {
    const Result<Json> page =
        client_.GetPath(kube::CollectionPath(policy::kNodeFeature, "") + "?limit=1");
    if (page.has_value()) {
      cluster_.node_features = static_cast<long long>(ListAt(*page, "items").size()) +
                               IntAt(*page, "metadata.remainingItemCount", 0);
    }
  }

  kube::Client& client_;
  const std::unique_ptr<kube::Client> log_client_;
  const std::string space_;
  ClusterFacts cluster_;
  bool answered_ = false;  // a list of something was given
  size_t workload_logs_ = 0;
  std::set<kube::Key> guests_;    // pods of others in the operator's namespace
  std::set<std::string> silent_;  // nodes whose kubelet did not give a log
  // What warnings tell, by what they are about; the newest each.
  std::map<std::pair<std::string, std::string>, Told> verdicts_;  // node and reason
  std::map<Involved, Told> refused_;
  std::map<kube::Key, Told> unstarted_;
  // In the operator's namespace.
  std::map<kube::Key, Told> pulls_;
  std::map<kube::Key, Told> mounts_;
  std::map<kube::Key, Told> secrets_;
  std::set<kube::Key> restarting_;
  std::map<std::string, FailedFacts> failed_;  // by owner, or pod
};

}  // namespace

std::string OwnedSelector() { return format("{}={}", names::kManagedBy, names::kManagedByGantry); }

Result<ClusterFacts> ReadCluster(kube::Client& client, const std::string& space,
                                 std::stop_token stop) {
  return Reader(client, space, std::move(stop)).ForDoctor();
}

Result<ClusterFacts> ReadStatus(kube::Client& client) { return Reader(client, "").ForStatus(); }

}  // namespace gantry::doctor
