// SPDX-License-Identifier: Apache-2.0
// Why is a GPU not used, and why does a pod not get one? Decided from the fields in facts.h. The
// words of refusals are the API server's (validation of non-overcommitable resources, quota).
#include "operator/doctor/findings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

Finding Problem(std::string code, std::string object, std::string message, std::string remedy) {
  return {.severity = Severity::kProblem,
          .code = std::move(code),
          .object = std::move(object),
          .message = std::move(message),
          .remedy = std::move(remedy)};
}

// --- would the scheduler take this node? ---------------------------------------------------------

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) {
    return false;
  }
  if (toleration.key.empty()) {
    return toleration.exists;
  }
  return toleration.key == taint.key && (toleration.exists || toleration.value == taint.value);
}

std::vector<Taint> Untolerated(const PodFacts& pod, const NodeFacts& node) {
  std::vector<Taint> taints;
  for (const Taint& taint : node.taints) {
    const bool tolerated = std::ranges::any_of(
        pod.tolerations, [&taint](const Toleration& each) { return Tolerates(each, taint); });
    if (taint.effect != "PreferNoSchedule" && !tolerated) {
      taints.push_back(taint);
    }
  }
  return taints;
}

bool Holds(const Requirement& requirement, const Labels& labels) {
  const auto label = labels.find(requirement.key);
  const bool there = label != labels.end();
  const bool listed =
      there && std::ranges::find(requirement.values, label->second) != requirement.values.end();
  if (requirement.op == "In") {
    return listed;
  }
  if (requirement.op == "NotIn") {
    return !listed;
  }
  if (requirement.op == "Exists" || requirement.op == "DoesNotExist") {
    return there == (requirement.op == "Exists");
  }
  const Result<long long> have = ParseInt(there ? label->second : "");
  const Result<long long> want = ParseInt(requirement.values.empty() ? "" : requirement.values[0]);
  return have && want && (requirement.op == "Gt" ? *have > *want : *have < *want);
}

bool Selects(const PodFacts& pod, const NodeFacts& node) {
  for (const auto& [key, value] : pod.node_selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) {
      return false;
    }
  }
  return pod.node_terms.empty() ||
         std::ranges::any_of(pod.node_terms, [&node](const std::vector<Requirement>& term) {
           return std::ranges::all_of(
               term, [&node](const Requirement& each) { return Holds(each, node.labels); });
         });
}

long long CountIn(const GpuCounts& counts, const std::string& resource) {
  const auto count = counts.find(resource);
  return count == counts.end() ? 0 : count->second;
}

// --- pods that wait ------------------------------------------------------------------------------

std::string PodName(const PodFacts& pod) { return "pod " + pod.space + "/" + pod.name; }

std::string OfferedResources(const std::vector<NodeFacts>& nodes) {
  std::set<std::string> offered;
  for (const NodeFacts& node : nodes) {
    for (const auto& [resource, count] : node.allocatable) {
      if (count > 0) {
        offered.insert(resource);
      }
    }
  }
  return offered.empty() ? "none" : Join({offered.begin(), offered.end()}, ", ");
}

std::optional<Finding> TooMany(const PodFacts& pod, const std::vector<NodeFacts>& nodes) {
  for (const auto& [resource, wanted] : pod.wants) {
    const NodeFacts* largest = nullptr;
    for (const NodeFacts& node : nodes) {
      const long long most = largest == nullptr ? 0 : CountIn(largest->allocatable, resource);
      if (CountIn(node.allocatable, resource) > most) {
        largest = &node;
      }
    }
    if (largest == nullptr) {
      return Problem("ResourceNotOffered", PodName(pod),
                     format("asks for {} {}, which no node offers (offered: {})", wanted, resource,
                            OfferedResources(nodes)),
                     "ask for a resource that is offered, or look at the findings of the nodes");
    }
    if (const long long most = CountIn(largest->allocatable, resource); most < wanted) {
      return Problem("MoreGpusThanAnyNode", PodName(pod),
                     format("asks for {} {}, and no node has more than {} (node {})", wanted,
                            resource, most, largest->name),
                     format("ask for at most {} in one pod, and spread the work over pods", most));
    }
  }
  return std::nullopt;
}

bool HasAll(const PodFacts& pod, const NodeFacts& node) {
  return std::ranges::all_of(pod.wants, [&node](const auto& each) {
    return CountIn(node.allocatable, each.first) >= each.second;
  });
}

std::string TaintText(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

// Taints that Kubernetes itself sets when a node is ill or cordoned: a toleration is no remedy.
bool IsKubernetesTaint(const Taint& taint) {
  return taint.key.starts_with("node.kubernetes.io/") ||
         taint.key.starts_with("node.cloudprovider.kubernetes.io/");
}

Finding Blocked(const PodFacts& pod, const std::vector<const NodeFacts*>& nodes) {
  std::set<std::string> lacking;
  std::set<std::string> others;
  for (const NodeFacts* node : nodes) {
    for (const Taint& taint : Untolerated(pod, *node)) {
      (IsKubernetesTaint(taint) ? others : lacking).insert(TaintText(taint));
    }
  }
  if (!lacking.empty()) {
    const std::string taints = Join({lacking.begin(), lacking.end()}, ", ");
    const std::string key = lacking.begin()->substr(0, lacking.begin()->find_first_of("=:"));
    return Problem(
        "TolerationMissing", PodName(pod),
        format("lacks a toleration for the taint {} of every node that has its GPUs", taints),
        format("add to its spec: tolerations: [{{key: {}, operator: Exists}}]", key));
  }
  return Problem("NodesUnschedulable", PodName(pod),
                 format("every node that has its GPUs is out of service ({})",
                        Join({others.begin(), others.end()}, ", ")),
                 "bring a node back (`kubectl uncordon`, or look why it is not ready)");
}

std::optional<Finding> ExaminePod(const PodFacts& pod, const std::vector<NodeFacts>& nodes) {
  if (std::optional<Finding> too_many = TooMany(pod, nodes)) {
    return too_many;
  }
  std::vector<const NodeFacts*> selected;
  std::vector<const NodeFacts*> open;
  for (const NodeFacts& node : nodes) {
    if (HasAll(pod, node) && Selects(pod, node)) {
      selected.push_back(&node);
      if (Untolerated(pod, node).empty()) {
        open.push_back(&node);
      }
    }
  }
  if (selected.empty()) {
    return Problem("NoNodeSelected", PodName(pod),
                   "its node selector or affinity takes no node that has its GPUs",
                   "compare it with the labels of the GPU nodes (`kubectl get node -L "
                   "nvidia.com/gpu.product`)");
  }
  if (open.empty()) {
    return Blocked(pod, selected);
  }
  if (pod.scheduler.find("Insufficient nvidia.com/") != std::string::npos) {
    Finding note = Problem(
        "GpusInUse", PodName(pod),
        format("waits: the GPUs of the {} node(s) that it could use are taken", open.size()),
        "wait, end other pods, or add a node");
    note.severity = Severity::kNote;
    return note;
  }
  return std::nullopt;
}

void ExaminePods(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  std::map<std::pair<std::string, std::string>, size_t> first;  // owner and code -> finding
  std::map<size_t, int> more;
  for (const PodFacts& pod : cluster.pending) {
    std::optional<Finding> finding = ExaminePod(pod, cluster.nodes);
    if (!finding) {
      continue;
    }
    if (!pod.owner.empty()) {
      const auto [at, added] =
          first.emplace(std::pair(pod.space + "/" + pod.owner, finding->code), findings.size());
      if (!added) {
        ++more[at->second];
        continue;
      }
    }
    findings.push_back(*std::move(finding));
  }
  for (const auto& [index, count] : more) {
    findings[index].object += format(" and {} more of its owner", count);
  }
}

// --- pods that were refused ----------------------------------------------------------------------

std::optional<Finding> ExamineRefusal(const RefusalFacts& refusal) {
  if (refusal.message.find("Limit must be set for non overcommitable resources") !=
      std::string::npos) {
    return Problem(
        "LimitsMissing", refusal.object,
        "its pods are refused: a container has requests for a GPU without limits",
        "set resources.limits for nvidia.com/gpu in its pod template, or `default` beside "
        "`defaultRequest` in the namespace's LimitRange");
  }
  if (refusal.message.find("exceeded quota") != std::string::npos &&
      refusal.message.find("nvidia.com/") != std::string::npos) {
    return Problem(
        "QuotaExceeded", refusal.object,
        "its pods are refused: " + refusal.message.substr(refusal.message.find("exceeded quota")),
        "raise the ResourceQuota of the namespace, or end other pods in it");
  }
  return std::nullopt;
}

// --- nodes, operands, policy ---------------------------------------------------------------------

bool LabelIs(const NodeFacts& node, const char* label, std::string_view value) {
  const auto at = node.labels.find(label);
  return at != node.labels.end() && at->second == value;
}

bool HasGpu(const NodeFacts& node) {
  return LabelIs(node, names::kGpuPresent, "true") || LabelIs(node, names::kPciNvidia, "true") ||
         LabelIs(node, names::kPciNvidia3d, "true") || LabelIs(node, names::kPciNvidiaVga, "true");
}

long long Sum(const GpuCounts& counts) {
  long long sum = 0;
  for (const auto& [resource, count] : counts) {
    sum += count;
  }
  return sum;
}

void ExamineNode(const NodeFacts& node, std::vector<Finding>& findings) {
  const std::string object = "node " + node.name;
  const std::string logs = format("kubectl logs -A -l app=nvidia-operator-validator --prefix");
  if (!HasGpu(node) || LabelIs(node, names::kDeployOperands, "false")) {
    return;
  }
  if (!node.ready) {
    findings.push_back(Problem("NodeNotReady", object, "has GPUs and is not ready",
                               "look at the kubelet on that node"));
    return;
  }
  const long long capacity = Sum(node.capacity);
  const long long allocatable = Sum(node.allocatable);
  if (capacity == 0 && !node.labels.contains(names::kCudaDriverVersionFull)) {
    findings.push_back(Problem("DriverMissing", object,
                               "has a GPU on its PCI bus, and no driver was found on it",
                               "install NVIDIA's driver on the node; the validator says what is "
                               "missing: " +
                                   logs));
  } else if (capacity == 0) {
    findings.push_back(Problem("NoGpuAllocatable", object,
                               "has a GPU and a driver, and its kubelet offers no GPU",
                               "look at the device plugin: kubectl logs -A -l "
                               "app=nvidia-device-plugin-daemonset --prefix"));
  } else if (allocatable < capacity) {
    findings.push_back(
        Problem("GpusUnhealthy", object,
                format("{} of its {} GPUs are unhealthy", capacity - allocatable, capacity),
                format("kubectl describe node {} names the reason in its events", node.name)));
  }
}

void ExaminePolicies(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  if (cluster.policies.empty()) {
    findings.push_back(Problem("NoClusterPolicy", "cluster", "has no ClusterPolicy",
                               "install the chart, or create a ClusterPolicy"));
  }
  for (const PolicyFacts& policy : cluster.policies) {
    const std::string object = "ClusterPolicy " + policy.name;
    if (!policy.unsupported_fields.empty()) {
      Finding note =
          Problem("FieldsNotActedOn", object,
                  "sets fields that are not acted on: " + Join(policy.unsupported_fields, ", "),
                  "nothing, if you can do without them");
      note.severity = Severity::kNote;
      findings.push_back(std::move(note));
    }
    if (policy.state == "ready" || policy.state == "ignored") {
      continue;
    }
    std::string why =
        policy.state.empty() ? "the operator has not looked at it yet" : "is " + policy.state;
    for (const Condition& condition : policy.conditions) {
      if (condition.type == "Error" && condition.holds) {
        why += ": " + condition.reason + ": " + condition.message;
      }
    }
    findings.push_back(
        Problem("ClusterPolicyNotReady", object, std::move(why),
                policy.state.empty() ? "look at the operator's log" : "see the other findings"));
  }
}

void ExamineOperands(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const OperandFacts& operand : cluster.operands) {
    if (operand.ready < operand.desired) {
      findings.push_back(Problem(
          "OperandNotReady", "DaemonSet " + operand.name,
          format("{} of {} pods are ready", operand.ready, operand.desired),
          format("kubectl describe and kubectl logs of its pods (-l app={})", operand.name)));
    }
  }
}

}  // namespace

std::vector<Finding> Examine(const ClusterFacts& cluster) {
  std::vector<Finding> findings;
  ExaminePolicies(cluster, findings);
  ExamineOperands(cluster, findings);
  for (const NodeFacts& node : cluster.nodes) {
    ExamineNode(node, findings);
  }
  for (const RefusalFacts& refusal : cluster.refusals) {
    std::optional<Finding> finding = ExamineRefusal(refusal);
    if (finding && std::ranges::find(findings, *finding) == findings.end()) {
      findings.push_back(*std::move(finding));
    }
  }
  ExaminePods(cluster, findings);
  return findings;
}

std::string LineOf(const Finding& finding) {
  return format("{}  {}: {}; {}", finding.code, finding.object, finding.message, finding.remedy);
}

Json JsonOf(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"severity", finding.severity == Severity::kProblem ? "problem" : "note"},
                    {"code", finding.code},
                    {"object", finding.object},
                    {"message", finding.message},
                    {"remedy", finding.remedy}});
  }
  return {{"findings", std::move(list)}};
}

}  // namespace gantry::doctor
