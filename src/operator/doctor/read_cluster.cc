// SPDX-License-Identifier: Apache-2.0
// Reading a live cluster for the doctor: nodes, waiting pods, warnings, operands, policies, each
// once, one object in memory at a time. What they mean is decided in the findings. An event may be
// an hour old, so what it is about is read again: only what still holds is a fact.
#include "operator/doctor/read_cluster.h"

#include <chrono>
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
constexpr size_t kMostLogs = 20;
constexpr long long kLogLines = 60;
constexpr long long kLogBytes = 64 * 1024;
// A node that is away lets the API server wait much longer.
constexpr std::chrono::seconds kLogTimeout(5);

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
  Reader(kube::Client& client, std::string space)
      : client_(client), log_client_(client.Bounded({}, kLogTimeout)), space_(std::move(space)) {
    cluster_.now = RealClock().Wall();
  }

  Result<ClusterFacts> ForDoctor() {
    TRY(ReadPolicies());
    TRY(ReadDaemonSets());
    TRY(ReadNodes());
    TRY(ReadHolders());
    TRY(ReadDeployments());
    TRY(ReadOperandPods());
    TRY(ReadPending());
    TRY(ReadRejections());
    TRY(ReadWarnings());
    TRY(ReadConfigs());
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
                   if (operator_space_.empty()) {
                     operator_space_ = cluster_.policies.back().space;
                   }
                 })));
      }
    }
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
    if (!listed.has_value() && !operator_space_.empty()) {
      TRY(Take("DaemonSets of all namespaces", listed));
      listed = List(kube::kinds::kDaemonSet, {.space = operator_space_}, take);
    }
    TRY(Take("DaemonSets", listed));
    if (operator_space_.empty() && !cluster_.operands.empty()) {
      operator_space_ = cluster_.operands.front().space;
    }
    return {};
  }

  void AddPart(const Json& object) {
    if (std::optional<PartFacts> part = PartFrom(object)) {
      cluster_.parts.push_back(*std::move(part));
    }
  }

  Status ReadNodes() {
    return Take("nodes", List(kube::kinds::kNode, {}, [this](const Json& node) {
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
    if (operator_space_.empty()) {
      return {};
    }
    TRY(Take("pods of namespace " + operator_space_,
             List(kube::kinds::kPod, {.space = operator_space_}, [this](const Json& pod) {
               for (ContainerFacts& container : TroubledContainers(pod)) {
                 cluster_.operand_containers.push_back(std::move(container));
               }
             })));
    for (ContainerFacts& container : cluster_.operand_containers) {
      if (container.waiting == "CrashLoopBackOff") {
        TRY(ReadLog(container));
      }
    }
    return {};
  }

  // The end of what the run before wrote. A kubelet that does not answer leaves it empty, and is
  // not asked again.
  Status ReadLog(ContainerFacts& container) {
    if (logs_ == kMostLogs || silent_.contains(container.node)) {
      return {};
    }
    ++logs_;
    Result<std::string> log =
        log_client_->Log({container.space, container.pod}, {.container = container.container,
                                                            .previous = true,
                                                            .tail_lines = kLogLines,
                                                            .limit_bytes = kLogBytes});
    if (log.has_value()) {
      container.log = *std::move(log);
    } else if (log.error().kind == ErrorKind::kDenied) {
      logs_ = kMostLogs;
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

  Status ReadRejections() {
    const kube::Selection failed{.space = space_, .fields = "status.phase=Failed"};
    return Take("pods that failed", List(kube::kinds::kPod, failed, [this](const Json& pod) {
                  if (std::optional<RejectionFacts> rejection = RejectionFrom(pod)) {
                    cluster_.rejections.push_back(*std::move(rejection));
                  }
                }));
  }

  Status ReadWarnings() {
    std::map<Involved, Told> refused;
    std::map<kube::Key, std::string> unstarted;
    std::set<kube::Key> restarting;
    const auto take = [&](const Json& event) {
      const std::string message = TextAt(event, "message");
      const std::string kind = TextAt(event, "involvedObject.kind");
      const kube::Key key{TextAt(event, "involvedObject.namespace"),
                          TextAt(event, "involvedObject.name")};
      if (kind == "Pod") {
        if (IsKnownStartFailure(message)) {
          unstarted[key] = message;
        } else if (TextAt(event, "reason") == "BackOff" && key.space != operator_space_) {
          restarting.insert(key);
        }
      } else if (IsKnownRefusal(
                     {.object = "", .message = message, .operand = key.space == operator_space_})) {
        refused[{kind, key}] = {message, LastSeen(event)};
      }
    };
    // Operands count whichever workloads are asked for.
    std::set<std::string> spaces = {space_};
    if (!space_.empty() && !operator_space_.empty()) {
      spaces.insert(operator_space_);
    }
    for (const std::string& space : spaces) {
      TRY(Take("events",
               List(kube::kinds::kEvent, {.space = space, .fields = "type=Warning"}, take)));
    }
    for (const auto& [involved, told] : refused) {
      TRY(AddRefusal(involved, told));
    }
    TRY(AddStarts(unstarted));
    return AddRestarting(restarting);
  }

  // The workload that a user knows: a ReplicaSet's Deployment, a Job's CronJob. Nothing if the
  // object is gone or has its pods by now.
  Status AddRefusal(const Involved& involved, const Told& told) {
    const std::string itself = involved.kind + " " + involved.key.Text();
    const bool operand = involved.key.space == operator_space_;
    const std::optional<kube::Kind> kind = ControllerKind(involved.kind);
    const Result<Json> object =
        kind ? client_.Get(*kind, involved.key)
             : Result<Json>(Fail(ErrorKind::kUnsupported, involved.kind + ": not a kind of ours"));
    if (object.has_value()) {
      if (LacksPods(*object)) {
        const std::string owner = OwnerOf(*object);
        // An operand's DaemonSet is owned by the policy, which says less.
        cluster_.refusals.push_back({.object = owner.empty() || operand ? itself : owner,
                                     .message = told.message,
                                     .operand = operand});
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

  Status AddStarts(const std::map<kube::Key, std::string>& unstarted) {
    size_t asked = 0;
    for (const auto& [key, message] : unstarted) {
      if (++asked > kMostPods) {
        break;
      }
      const Result<Json> pod = client_.Get(kube::kinds::kPod, key);
      if (pod.has_value() && IsStarting(*pod)) {
        cluster_.starts.push_back({.object = "pod " + key.Text(),
                                   .node = TextAt(*pod, "spec.nodeName"),
                                   .message = message});
      }
      TRY(Take("pod " + key.Text(), StatusOf(pod)));
    }
    return {};
  }

  Status AddRestarting(const std::set<kube::Key>& restarting) {
    size_t asked = 0;
    for (const kube::Key& key : restarting) {
      if (++asked > kMostPods) {
        break;
      }
      const Result<Json> pod = client_.Get(kube::kinds::kPod, key);
      TRY(Take("pod " + key.Text(), StatusOf(pod)));
      if (!pod.has_value() || PodWants(*pod).empty()) {
        continue;
      }
      for (ContainerFacts& container : TroubledContainers(*pod)) {
        if (container.waiting == "CrashLoopBackOff") {
          TRY(ReadLog(container));
          cluster_.workload_containers.push_back(std::move(container));
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
  std::string operator_space_;
  ClusterFacts cluster_;
  size_t logs_ = 0;
  std::set<std::string> silent_;  // nodes whose kubelet did not give a log
};

}  // namespace

std::string OwnedSelector() { return format("{}={}", names::kManagedBy, names::kManagedByGantry); }

Result<ClusterFacts> ReadCluster(kube::Client& client, const std::string& space) {
  return Reader(client, space).ForDoctor();
}

Result<ClusterFacts> ReadStatus(kube::Client& client) { return Reader(client, "").ForStatus(); }

}  // namespace gantry::doctor
