// SPDX-License-Identifier: Apache-2.0
// Reading a live cluster for the doctor: nodes, waiting pods, warnings, operands, policies, each
// once, one object in memory at a time. What they mean is decided in the findings. An event may be
// an hour old, so what it is about is read again: only what still holds is a fact.
#include "operator/doctor/read_cluster.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "kube/path.h"
#include "operator/doctor/findings.h"
#include "operator/doctor/start_findings.h"
#include "policy/kinds.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

// Older warnings about objects whose state the doctor cannot read are history.
constexpr std::chrono::minutes kFresh(30);
// Of a thousand pods with one cause, some tell it as well.
constexpr size_t kMostPods = 50;
constexpr size_t kMostLogs = 20;  // of operands, and of workloads
constexpr size_t kLogsOfOne = 2;  // of one container of an operand, on whichever nodes
constexpr long long kLogLines = 60;
constexpr long long kLogBytes = 64 * 1024;
// A node that is away lets the API server wait much longer.
constexpr std::chrono::seconds kLogTimeout(5);
constexpr std::string_view kJob = "Job ";  // of an owner

// What an event is about, by kind and key.
struct Involved {
  std::string kind;
  kube::Key key;
  auto operator<=>(const Involved&) const = default;
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
        {"DaemonSets", &Reader::ReadDaemonSets},
        {"Deployments", &Reader::ReadDeployments},
        {"pods that hold GPUs", &Reader::ReadHolders},
        {"events", &Reader::ReadWarnings},
        {"the operator's pods", &Reader::ReadOperandPods},
        {"pods that wait", &Reader::ReadPending},
        {"pods that failed", &Reader::ReadFailed},
        {"pods that are refused", &Reader::AddRefusals},
        {"pods that are not started", &Reader::AddStarts},
        {"pods that end again and again", &Reader::AddRestarting},
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
    return Take("DaemonSets", listed);
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
    return Take("Deployments", List(kube::kinds::kDeployment, {}, [this](const Json& deployment) {
                  const std::string* component =
                      kube::LabelOf(deployment, "app.kubernetes.io/component");
                  if (component != nullptr && *component == "gpu-operator") {
                    cluster_.operators.push_back(OperatorFrom(deployment));
                  }
                  AddPart(deployment);
                }));
  }

  Status ReadOperandPods() {
    const std::string operator_space = OperatorSpace(cluster_);
    if (operator_space.empty()) {
      return {};
    }
    TRY(Take("pods of namespace " + operator_space,
             List(kube::kinds::kPod, {.space = operator_space}, [this](const Json& pod) {
               for (ContainerFacts& container : TroubledContainers(pod)) {
                 Explain(pod, container);
                 cluster_.operand_containers.push_back(std::move(container));
               }
             })));
    size_t asked = 0;
    std::map<std::pair<std::string, std::string>, size_t> read;  // app and container
    for (ContainerFacts& container : cluster_.operand_containers) {
      size_t& of_one = read[{container.app, container.container}];
      if (container.waiting == "CrashLoopBackOff" && of_one < kLogsOfOne) {
        TRY(ReadLog(container, asked));
        of_one += container.log.empty() ? 0 : 1;
      }
    }
    return {};
  }

  // What its status does not say: before Kubernetes 1.32 why an image is not pulled, and why a pod
  // has no sandbox.
  void Explain(const Json& pod, ContainerFacts& container) const {
    const kube::Key key = kube::KeyOf(pod);
    const auto pull = pulls_.find(key);
    const auto start = unstarted_.find(key);
    if (pull != pulls_.end() && container.message.ends_with('"') &&
        pull->second.message.find('"' + container.image + '"') != std::string::npos) {
      container.message += ": " + pull->second.message;
    } else if (start != unstarted_.end() && container.message.empty() && IsStarting(pod)) {
      container.message = start->second.message;
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

  Status ReadFailed() {
    std::map<kube::Key, ContainerFacts> of_jobs;  // the newest of each
    const kube::Selection failed{.space = space_, .fields = "status.phase=Failed"};
    TRY(Take("pods that failed", List(kube::kinds::kPod, failed, [&](const Json& pod) {
               if (std::optional<RejectionFacts> rejection = RejectionFrom(pod)) {
                 cluster_.rejections.push_back(*std::move(rejection));
                 return;
               }
               const std::string owner = OwnerOf(pod);
               if (!owner.starts_with(kJob) || PodWants(pod).empty()) {
                 return;
               }
               const kube::Key job{kube::KeyOf(pod).space, owner.substr(owner.rfind('/') + 1)};
               for (ContainerFacts& container : TroubledContainers(pod)) {
                 if (FailsNow(container, cluster_.now) &&
                     container.ended_at > of_jobs[job].ended_at) {
                   of_jobs[job] = std::move(container);
                 }
               }
             })));
    size_t asked = 0;
    for (auto& [job, container] : of_jobs) {
      if (++asked > kMostPods) {
        break;
      }
      TRY(AddFailed(job, container));
    }
    return {};
  }

  // What a Job has done after all is no trouble.
  Status AddFailed(const kube::Key& job, ContainerFacts& container) {
    const Result<Json> object = client_.Get(kube::kinds::kJob, job);
    if (object.has_value() ? IntAt(*object, "status.succeeded", 0) > 0
                           : object.error().kind == ErrorKind::kNotFound) {
      return {};
    }
    return AddWorkload(container);
  }

  Status AddWorkload(ContainerFacts& container) {
    TRY(ReadLog(container, workload_logs_));
    cluster_.workload_containers.push_back(std::move(container));
    return {};
  }

  void TakeWarning(const Json& event) {
    const std::string kind = TextAt(event, "involvedObject.kind");
    const std::string reason = TextAt(event, "reason");
    const kube::Key key{TextAt(event, "involvedObject.namespace"),
                        TextAt(event, "involvedObject.name")};
    const bool operand = key.space == OperatorSpace(cluster_);
    Told told{TextAt(event, "message"), LastSeen(event)};
    if (kind == "Node") {
      KeepNewest(verdicts_[{key.name, reason}], std::move(told));
    } else if (kind == "Pod") {
      if (StartFailure(told.message)) {
        KeepNewest(unstarted_[key], std::move(told));
      } else if (operand && told.message.starts_with("Failed to pull image")) {
        KeepNewest(pulls_[key], std::move(told));
      } else if (reason == "BackOff" && !operand) {
        restarting_.insert(key);
      }
    } else if (operand ? reason == "FailedCreate"
                       : IsKnownRefusal({.object = "", .message = told.message})) {
      KeepNewest(refused_[{kind, key}], std::move(told));
    }
  }

  Status ReadWarnings() {
    // Operands count whichever workloads are asked for.
    std::set<std::string> spaces = {space_};
    if (!space_.empty() && !OperatorSpace(cluster_).empty()) {
      spaces.insert(OperatorSpace(cluster_));
    }
    for (const std::string& space : spaces) {
      TRY(Take("events", List(kube::kinds::kEvent, {.space = space, .fields = "type=Warning"},
                              [this](const Json& event) { TakeWarning(event); })));
    }
    for (NodeFacts& node : cluster_.nodes) {
      const auto told = verdicts_.find({node.name, ValueOf(node, names::kGpuValidation)});
      if (told != verdicts_.end()) {
        node.validator_says = told->second.message;
      }
    }
    return {};
  }

  Status AddRefusals() {
    for (const auto& [involved, told] : refused_) {
      TRY(AddRefusal(involved, told));
    }
    return {};
  }

  // The workload that a user knows: a ReplicaSet's Deployment, a Job's CronJob. Nothing if the
  // object is gone or has its pods by now.
  Status AddRefusal(const Involved& involved, const Told& told) {
    const std::string itself = involved.kind + " " + involved.key.Text();
    const bool operand = involved.key.space == OperatorSpace(cluster_);
    const std::optional<kube::Kind> kind = ControllerKind(involved.kind);
    const Result<Json> object =
        kind ? client_.Get(*kind, involved.key)
             : Result<Json>(Fail(ErrorKind::kUnsupported, involved.kind + ": not a kind of ours"));
    if (object.has_value()) {
      if (LacksPods(*object)) {
        const std::string owner = OwnerOf(*object);
        // An operand's DaemonSet is owned by the policy, which says less.
        const bool itself_known = owner.empty() || (operand && involved.kind == "DaemonSet");
        cluster_.refusals.push_back(
            {.object = itself_known ? itself : owner, .message = told.message, .operand = operand});
      }
      return {};
    }
    switch (object.error().kind) {
      case ErrorKind::kNotFound:
        return {};
      case ErrorKind::kUnsupported:
      case ErrorKind::kDenied:
        if (told.last_seen > Rfc3339(cluster_.now - kFresh)) {
          cluster_.refusals.push_back(
              {.object = itself, .message = told.message, .operand = operand});
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
      if (key.space == OperatorSpace(cluster_)) {
        continue;
      }
      if (++asked > kMostPods) {
        break;
      }
      const Result<Json> pod = client_.Get(kube::kinds::kPod, key);
      if (pod.has_value() && IsStarting(*pod)) {
        cluster_.starts.push_back({.object = "pod " + key.Text(),
                                   .node = TextAt(*pod, "spec.nodeName"),
                                   .message = told.message});
      }
      TRY(Take("pod " + key.Text(), StatusOf(pod)));
    }
    return {};
  }

  Status AddRestarting() {
    size_t asked = 0;
    for (const kube::Key& key : restarting_) {
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

  // The policy's own condition says when the ConfigMap is missing.
  Status ReadConfigs() {
    for (const PolicyFacts& policy : cluster_.policies) {
      if (policy.plugin_config.empty() || policy.space.empty() || policy.state == "ignored") {
        continue;
      }
      const Result<Json> config_map =
          client_.Get(kube::kinds::kConfigMap, {policy.space, policy.plugin_config});
      if (config_map.has_value()) {
        cluster_.configs = ConfigsFrom(*config_map);
      }
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
  std::set<std::string> silent_;  // nodes whose kubelet did not give a log
  // What warnings tell, by what they are about; the newest each.
  std::map<std::pair<std::string, std::string>, Told> verdicts_;  // node and reason
  std::map<Involved, Told> refused_;
  std::map<kube::Key, Told> unstarted_;
  std::map<kube::Key, Told> pulls_;  // of operands
  std::set<kube::Key> restarting_;
};

}  // namespace

std::string OwnedSelector() { return format("{}={}", names::kManagedBy, names::kManagedByGantry); }

Result<ClusterFacts> ReadCluster(kube::Client& client, const std::string& space,
                                 std::stop_token stop) {
  return Reader(client, space, std::move(stop)).ForDoctor();
}

Result<ClusterFacts> ReadStatus(kube::Client& client) { return Reader(client, "").ForStatus(); }

}  // namespace gantry::doctor
