// SPDX-License-Identifier: Apache-2.0
// How does the doctor read a live cluster? Nodes, policies, operands and warnings, each once, one
// object in memory at a time. The findings interpret them; workload_reader.cc reads pods with GPUs.
#include "doctor/read_cluster.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "doctor/claim_findings.h"
#include "doctor/controller_facts.h"
#include "doctor/log_reader.h"
#include "doctor/node_stage.h"
#include "doctor/object_fields.h"
#include "doctor/part_facts.h"
#include "doctor/part_reader.h"
#include "doctor/pod_facts.h"
#include "doctor/policy_facts.h"
#include "doctor/warnings.h"
#include "doctor/workload_reader.h"
#include "kube/path.h"
#include "policy/kinds.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

constexpr size_t kMostHeldNodes = 50;  // of nodes whose MIG layout is being changed
constexpr size_t kLogsOfOne = 2;       // of one container of an operand, on any nodes

class Reader {
 public:
  Reader(kube::Client& client, std::string ns, std::stop_token stop = {})
      : client_(client),
        ns_(std::move(ns)),
        parts_(client, cluster_),
        logs_(client, std::move(stop)),
        workloads_(parts_, logs_, cluster_, warnings_, guests_, ns_) {
    cluster_.now = RealClock().Wall();
    if (const char* own = std::getenv(names::kOperatorNamespace); own != nullptr) {
      cluster_.own_namespace = own;
    }
  }

  // An unreadable part costs its own findings. A server that never responds is an error.
  Result<ClusterFacts> ForDoctor() {
    WorkloadReader& pods = workloads_;
    const std::vector<std::pair<const char*, std::function<Status()>>> steps = {
        {kNodesPart, [&] { return ReadNodes(); }},
        {kSlicesPart, [&] { return ReadSlices(); }},
        {kPoliciesPart, [&] { return ReadPolicies(); }},
        {"NVIDIADrivers", [&] { return ReadDrivers(); }},
        {kDaemonSetsPart, [&] { return ReadDaemonSets(); }},
        {kDeploymentsPart, [&] { return ReadDeployments(); }},
        {"the operator's lease", [&] { return ReadLease(); }},
        {"pods that hold GPUs", [&] { return ReadHolders(); }},
        {kEventsPart, [&] { return ReadWarnings(); }},
        {"the operator's pods", [&] { return ReadOperandPods(); }},
        {"pending pods", [&] { return pods.ReadPending(); }},
        {"resource claims", [&] { return ReadClaims(); }},
        {"pods that an autoscaler adds nodes for", [&] { return pods.ReadScaleUps(); }},
        {"failed pods", [&] { return pods.ReadFailed(); }},
        {"refused pods", [&] { return pods.AddRefusals(); }},
        {"pods that do not start", [&] { return pods.AddStarts(); }},
        {"crash-looping pods", [&] { return pods.AddRestarting(); }},
        {"earlier runs of failed pods", [&] { return pods.AddEarlierRuns(); }},
        {"the device plugin's configuration", [&] { return ReadConfigs(); }},
    };
    for (const auto& [what, read] : steps) {
      if (const Status status = read(); !status.has_value()) {
        if (!parts_.answered()) {
          return std::unexpected(status.error());
        }
        cluster_.unread.push_back({.what = what, .error = status.error()});
      }
    }
    CountNodeFeatures();
    return std::move(cluster_);
  }

  Result<ClusterFacts> ForStatus() {
    TRY(ReadPolicies());
    TRY(ReadDaemonSets());
    TRY(ReadNodes());
    TRY(ReadSlices());
    return std::move(cluster_);
  }

 private:
  // A GPUClusterPolicy or a GPUCluster alone counts too.
  Status ReadPolicies() {
    for (const kube::Kind& kind :
         {policy::kClusterPolicy, policy::kGpuClusterPolicy, policy::kGpuCluster}) {
      if (cluster_.policies.empty()) {
        TRY(parts_.Take(kPoliciesPart, parts_.List(kind, {}, [this](const Json& policy) {
          cluster_.policies.push_back(PolicyFrom(policy));
        })));
      }
    }
    return {};
  }

  Status ReadDrivers() {
    return parts_.Take("NVIDIADrivers",
                       parts_.List(policy::kNvidiaDriver, {}, [this](const Json& driver) {
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
    Status listed = parts_.List(kube::kinds::kDaemonSet, {}, take);
    if (const std::string ns = OperatorNamespace(cluster_); !listed.has_value() && !ns.empty()) {
      TRY(parts_.Take(kAllDaemonSetsPart, listed));
      listed = parts_.List(kube::kinds::kDaemonSet, {.ns = ns}, take);
    }
    return parts_.Take(kDaemonSetsPart, listed);
  }

  void AddPart(const Json& object) {
    if (std::optional<PartFacts> part = PartFrom(object)) {
      cluster_.parts.push_back(*std::move(part));
    }
  }

  Status ReadNodes() {
    return parts_.Take(kNodesPart, parts_.List(kube::kinds::kNode, {}, [this](const Json& node) {
      cluster_.nodes.push_back(NodeFrom(node));
    }));
  }

  // What nodes offer to resource claims.
  Status ReadSlices() {
    if (!IsByClaims(cluster_)) {
      return {};
    }
    std::map<std::string, long long> devices;
    TRY(parts_.Take(kSlicesPart,
                    parts_.List(kube::kinds::kResourceSlice,
                                {.fields = format("spec.driver={}", names::kGpuDraDriver)},
                                [&devices](const Json& slice) {
                                  const Json& listed = ListAt(slice, "spec.devices");
                                  if (!listed.empty()) {
                                    devices[TextAt(slice, "spec.nodeName")] +=
                                        static_cast<long long>(listed.size());
                                  }
                                })));
    if (!IsUnread(cluster_, kSlicesPart)) {
      cluster_.devices = std::move(devices);
    }
    return {};
  }

  // Only if a pod waits for one.
  Status ReadClaims() {
    if (!IsByClaims(cluster_) || cluster_.pending.empty()) {
      return {};
    }
    return parts_.Take(
        "resource claims", parts_.List(kube::kinds::kResourceClaim, {}, [this](const Json& claim) {
          for (const Json& result : ListAt(claim, "status.allocation.devices.results")) {
            cluster_.devices_allocated += TextAt(result, "driver") == names::kGpuDraDriver &&
                                                  !BoolAt(result, "adminAccess", false)
                                              ? 1
                                              : 0;
          }
        }));
  }

  // Pods that a change of MIG layout waits for, on the nodes of such changes.
  Status ReadHolders() {
    size_t asked = 0;
    for (NodeFacts& node : cluster_.nodes) {
      if (ValueOf(node, names::kMigConfigState) != "pending" || ++asked > kMostHeldNodes) {
        continue;
      }
      const kube::Selection running{.fields =
                                        format("status.phase=Running,spec.nodeName={}", node.name)};
      TRY(parts_.Take("pods of node " + node.name,
                      parts_.List(kube::kinds::kPod, running, [&node](const Json& pod) {
                        if (!PodWants(pod).empty()) {
                          node.holders.push_back(kube::KeyOf(pod).Text());
                        }
                      })));
    }
    return {};
  }

  Status ReadDeployments() {
    return parts_.Take(
        kDeploymentsPart, parts_.List(kube::kinds::kDeployment, {}, [this](const Json& deployment) {
          const std::string* component = kube::LabelOf(deployment, "app.kubernetes.io/component");
          if (component != nullptr && *component == "gpu-operator") {
            cluster_.operators.push_back(OperatorFrom(deployment));
          }
          AddPart(deployment);
        }));
  }

  // An operator outside the cluster, or of another Deployment, renews it too. Without the right to
  // read it, it counts as not read.
  Status ReadLease() {
    const std::string ns = OperatorNamespace(cluster_);
    if (!cluster_.operators.empty() || ns.empty()) {
      return {};
    }
    const Result<Json> lease = client_.Get(kube::kinds::kLease, {ns, names::kOperatorLease});
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
    const std::string operator_namespace = OperatorNamespace(cluster_);
    if (operator_namespace.empty()) {
      return {};
    }
    TRY(parts_.Take(
        "pods of namespace " + operator_namespace,
        parts_.List(kube::kinds::kPod, {.ns = operator_namespace}, [this](const Json& pod) {
          if (!IsOperandPod(cluster_, pod)) {
            guests_.insert(kube::KeyOf(pod));
            return;
          }
          NoteDriver(pod);
          NoteUnready(pod);
          for (ContainerFacts& container : TroubledContainers(pod)) {
            warnings_.Explain(pod, container, cluster_.now);
            cluster_.operand_containers.push_back(std::move(container));
          }
        })));
    size_t asked = 0;
    std::map<std::pair<std::string, std::string>, size_t> read;  // app and container
    for (ContainerFacts& container : cluster_.operand_containers) {
      size_t& of_one = read[{container.app, container.container}];
      if (EndsAgain(container, cluster_.now) && of_one < kLogsOfOne) {
        TRY(parts_.Take("logs", logs_.Read(container, asked)));
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

  Status ReadWarnings() {
    const std::string operator_namespace = OperatorNamespace(cluster_);
    // Operands count for any selected namespace of workloads.
    std::set<std::string> namespaces = {ns_};
    if (!ns_.empty() && !operator_namespace.empty()) {
      namespaces.insert(operator_namespace);
    }
    const auto take = [&](const Json& event) {
      warnings_.Take(event, TextAt(event, "involvedObject.namespace") == operator_namespace);
    };
    for (const std::string& ns : namespaces) {
      TRY(parts_.Take(kEventsPart, parts_.List(kube::kinds::kEvent,
                                               {.ns = ns, .fields = "type=Warning"}, take)));
    }
    // The namespace of events about cluster-scoped objects.
    if (!namespaces.contains("") && !namespaces.contains("default")) {
      const kube::Selection of_nodes{.ns = "default",
                                     .fields = "type=Warning,involvedObject.kind=Node"};
      TRY(parts_.Take("events of nodes", parts_.List(kube::kinds::kEvent, of_nodes, take)));
    }
    for (NodeFacts& node : cluster_.nodes) {
      warnings_.Explain(node);
    }
    return {};
  }

  Status ReadConfigs() {
    for (PolicyFacts& policy : cluster_.policies) {
      if (policy.plugin_config.empty() || policy.ns.empty() || policy.state == "ignored") {
        continue;
      }
      const Result<Json> config_map =
          client_.Get(kube::kinds::kConfigMap, {policy.ns, policy.plugin_config});
      if (config_map.has_value()) {
        cluster_.configs = ConfigsFrom(*config_map);
      }
      policy.config_missing =
          !config_map.has_value() && config_map.error().kind == ErrorKind::kNotFound;
      TRY(parts_.Take("ConfigMap " + policy.plugin_config, StatusOf(config_map)));
    }
    return {};
  }

  // A list of one object has the count of all. Without the right to list them, nothing is reported.
  void CountNodeFeatures() {
    const Result<Json> page =
        client_.GetPath(kube::CollectionPath(policy::kNodeFeature, "") + "?limit=1");
    if (page.has_value()) {
      cluster_.node_features = static_cast<long long>(ListAt(*page, "items").size()) +
                               IntAt(*page, "metadata.remainingItemCount", 0);
    }
  }

  kube::Client& client_;
  const std::string ns_;
  ClusterFacts cluster_;
  std::set<kube::Key> guests_;  // other workloads' pods in the operator's namespace
  Warnings warnings_;
  PartReader parts_;
  LogReader logs_;
  WorkloadReader workloads_;
};

}  // namespace

std::string OwnedSelector() { return format("{}={}", names::kManagedBy, names::kManagedByGantry); }

Result<ClusterFacts> ReadCluster(kube::Client& client, const std::string& ns,
                                 std::stop_token stop) {
  return Reader(client, ns, std::move(stop)).ForDoctor();
}

Result<ClusterFacts> ReadStatus(kube::Client& client) { return Reader(client, "").ForStatus(); }

}  // namespace gantry::doctor
