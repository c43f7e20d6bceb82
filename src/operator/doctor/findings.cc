// SPDX-License-Identifier: Apache-2.0
// Why is a GPU not used, and why does a pod not get one? Decided from the fields in facts.h. The
// words of refusals are the API server's (validation of non-overcommitable resources, quota).
#include "operator/doctor/findings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "operator/doctor/cluster_findings.h"
#include "operator/doctor/container_findings.h"
#include "operator/doctor/node_choice.h"
#include "operator/doctor/node_findings.h"
#include "operator/doctor/start_findings.h"

namespace gantry::doctor {
namespace {

bool IsUnread(const ClusterFacts& cluster, std::string_view part) {
  return std::ranges::find(cluster.unread, part, &Unread::what) != cluster.unread.end();
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

// Taints of nodes that are being started or taken away, by whoever does that: they go by
// themselves.
bool IsPassing(const ClusterFacts& cluster, const Taint& taint) {
  static constexpr std::array<std::string_view, 5> kKeys = {
      "node.cilium.io/agent-not-ready", "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted",
      "karpenter.sh/disruption", "karpenter.sh/unregistered"};
  return std::ranges::find(kKeys, taint.key) != kKeys.end() ||
         taint.key.starts_with("startup-taint.cluster-autoscaler.kubernetes.io/") ||
         std::ranges::find(cluster.operators, taint.key, &OperatorFacts::startup_taint) !=
             cluster.operators.end();
}

Finding Blocked(const ClusterFacts& cluster, const PodFacts& pod,
                const std::vector<const NodeFacts*>& nodes) {
  std::set<std::string> lacking;
  std::set<std::string> others;
  bool passing = false;
  for (const NodeFacts* node : nodes) {
    for (const Taint& taint : Untolerated(pod, *node)) {
      const bool passes = IsPassing(cluster, taint);
      passing = passing || passes;
      (passes || IsKubernetesTaint(taint) ? others : lacking).insert(TaintText(taint));
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
  const auto make = passing ? Note : Problem;
  return make("NodesUnschedulable", PodName(pod),
              format("every node that has its GPUs is out of service ({})",
                     Join({others.begin(), others.end()}, ", ")),
              passing ? "wait: a node is being started, or taken away"
                      : "bring a node back (`kubectl uncordon`, or look why it is not ready)");
}

// What the scheduler's message counts: "0/3 nodes are available: 1 Insufficient cpu, 2 Insufficient
// nvidia.com/gpu.".
struct Shortage {
  long long gpus = 0;               // nodes that lack free GPUs
  std::vector<std::string> others;  // other resources that nodes lack
};

Shortage ShortageOf(const std::string& message) {
  constexpr std::string_view kWord = " Insufficient ";
  Shortage shortage;
  // What follows a second sentence repeats it for preemption.
  const std::string_view text = std::string_view(message).substr(0, message.find("preemption:"));
  for (size_t at = text.find(kWord); at != std::string_view::npos;
       at = text.find(kWord, at + kWord.size())) {
    const std::string_view before = text.substr(0, at);
    const size_t space = before.find_last_of(' ');
    const long long nodes =
        ParseInt(before.substr(space == std::string_view::npos ? 0 : space + 1)).value_or(0);
    const std::string_view rest = text.substr(at + kWord.size());
    std::string resource(rest.substr(0, rest.find_first_of(", ")));
    while (resource.ends_with('.')) {
      resource.pop_back();
    }
    if (resource.starts_with("nvidia.com/")) {
      shortage.gpus += nodes;
    } else {
      shortage.others.push_back(std::move(resource));
    }
  }
  return shortage;
}

// Nodes that the scheduler asks for GPUs too and that have none, or too few.
long long NodesWithout(const PodFacts& pod, const std::vector<NodeFacts>& nodes) {
  return std::ranges::count_if(nodes, [&pod](const NodeFacts& node) {
    return !HasAll(pod, node) && Takes(pod.choice, node) && Untolerated(pod, node).empty();
  });
}

std::optional<Finding> ExaminePod(const ClusterFacts& cluster, const PodFacts& pod) {
  const std::vector<NodeFacts>& nodes = cluster.nodes;
  if (std::optional<Finding> too_many = TooMany(pod, nodes)) {
    return too_many;
  }
  std::vector<const NodeFacts*> selected;
  std::vector<const NodeFacts*> open;
  for (const NodeFacts& node : nodes) {
    if (HasAll(pod, node) && Takes(pod.choice, node)) {
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
    return Blocked(cluster, pod, selected);
  }
  const Shortage shortage = ShortageOf(pod.scheduler);
  if (shortage.gpus > NodesWithout(pod, nodes) || (shortage.gpus > 0 && shortage.others.empty())) {
    return Note(
        "GpusInUse", PodName(pod),
        format("waits: the GPUs of the {} node(s) that it could use are taken", open.size()),
        "wait, end other pods, or add a node");
  }
  if (!shortage.others.empty()) {
    return Problem(
        "NodeResourcesShort", PodName(pod),
        format("finds free GPUs on nodes whose {} others have taken", Join(shortage.others, ", ")),
        "ask for less, or taint the GPU nodes (nvidia.com/gpu=present:NoSchedule), so "
        "that pods without GPUs stay away");
  }
  return std::nullopt;
}

void ExaminePods(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  if (IsUnread(cluster, kNodesPart)) {
    return;
  }
  std::map<std::pair<std::string, std::string>, size_t> first;  // owner and code -> finding
  std::map<size_t, int> more;
  for (const PodFacts& pod : cluster.pending) {
    std::optional<Finding> finding = pod.gated ? std::nullopt : ExaminePod(cluster, pod);
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

struct Refuser {
  std::string_view words;
  const char* remedy;
};

constexpr char kExempt[] = "exempt the operator's namespace from that policy";
constexpr char kQuota[] = "raise the ResourceQuota of the namespace";
constexpr char kLimits[] =
    "set resources of its section, or change the namespace's ResourceQuota or LimitRange";
constexpr char kConstraint[] =
    "let its ServiceAccount use a SecurityContextConstraint that allows what the words name";

constexpr std::array kRefusers = std::to_array<Refuser>({
    {"denied the request", kExempt},
    {"denied request", kExempt},
    {"exceeded quota", kQuota},
    {"failed quota", kLimits},
    {" usage per ", kLimits},
    {"security context constraint", kConstraint},
    {"", "change what refuses them"},
});

// In the API server's own words.
Finding Refused(const RefusalFacts& refusal) {
  constexpr std::string_view kController = "Error creating: ";
  const bool prefixed = refusal.message.starts_with(kController);
  const auto refuser = std::ranges::find_if(kRefusers, [&refusal](const Refuser& each) {
    return refusal.message.find(each.words) != std::string::npos;
  });
  return Problem(
      "PodsRefused", refusal.object,
      "its pods are refused: " + refusal.message.substr(prefixed ? kController.size() : size_t{0}),
      refuser->remedy);
}

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
  // "maximum nvidia.com/gpu usage per Container is 1, but limit is 2"
  if (refusal.message.find("nvidia.com/") != std::string::npos &&
      refusal.message.find(" usage per ") != std::string::npos) {
    return Problem("QuotaExceeded", refusal.object, "its pods are refused: " + refusal.message,
                   "raise the LimitRange of the namespace, or ask for less");
  }
  const auto says = [&refusal](std::string_view words) {
    return refusal.message.find(words) != std::string::npos;
  };
  if (says("RuntimeClass \"nvidia") && says("not found")) {
    return Problem("RuntimeClassMissing", refusal.object,
                   "its pods are refused: the cluster has no such RuntimeClass",
                   "leave runtimeClassName out (GPUs come by CDI), or set "
                   "operator.runtimeClass to the name");
  }
  if (!refusal.operand) {
    return std::nullopt;
  }
  if (says("violates PodSecurity")) {
    return Problem("PodSecurityForbids", refusal.object,
                   "its pods are refused: its namespace allows no privileged pods",
                   "set psa.enabled=true, or label the namespace "
                   "pod-security.kubernetes.io/enforce=privileged");
  }
  if (says("insufficient quota to match these scopes")) {
    return Problem(
        "PriorityQuotaMissing", refusal.object,
        "its pods are refused: its namespace has no quota for pods of its priority class",
        "make a ResourceQuota with that scope in the namespace, or set "
        "daemonsets.priorityClassName");
  }
  if (const size_t webhook = refusal.message.find("failed calling webhook");
      webhook != std::string::npos) {
    return Problem("WebhookFails", refusal.object,
                   "its pods are refused: " + refusal.message.substr(webhook),
                   "repair that webhook, or exempt the operator's namespace from it");
  }
  return Refused(refusal);
}

// --- operands, policy ----------------------------------------------------------------------------

// Its state, and what its own condition says.
std::string WhyNot(const PolicyFacts& policy) {
  std::string why =
      policy.state.empty() ? "the operator has not looked at it yet" : "is " + policy.state;
  for (const Condition& condition : policy.conditions) {
    if (condition.type == "Error" && condition.holds) {
      why += ": " + condition.reason + ": " + condition.message;
    }
  }
  return why;
}

void ExaminePolicies(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  if (cluster.policies.empty() && !IsUnread(cluster, kPoliciesPart)) {
    findings.push_back(Problem("NoClusterPolicy", "cluster", "has no ClusterPolicy",
                               "install the chart, or create a ClusterPolicy"));
  }
  for (const PolicyFacts& policy : cluster.policies) {
    const std::string& object = policy.object;
    if (!policy.unsupported_fields.empty()) {
      findings.push_back(
          Note("FieldsNotActedOn", object,
               "sets fields that are not acted on: " + Join(policy.unsupported_fields, ", "),
               "nothing, if you can do without them"));
    }
    for (const Condition& condition : policy.conditions) {
      if (condition.reason == "TaintNotTolerated") {
        findings.push_back(Problem("TaintNotTolerated", object, condition.message,
                                   "or take the taint off the nodes"));
      }
    }
    if (policy.state == "ignored") {
      findings.push_back(Problem("PolicyIgnored", object,
                                 "is not acted on: another one was there before it",
                                 "delete it, or the other one"));
    }
    if (policy.state == "ready" || policy.state == "ignored") {
      continue;
    }
    findings.push_back(
        Problem("ClusterPolicyNotReady", object, WhyNot(policy),
                policy.state.empty() ? "look at the operator's log" : "see the other findings"));
  }
  for (const PolicyFacts& driver : cluster.drivers) {
    if (driver.state == "notReady") {
      findings.push_back(Problem("DriverNotReady", driver.object, WhyNot(driver),
                                 "correct the field, or see the other findings"));
    }
  }
}

// Whether its containers, or its refused pods, have said why: that is the cause.
bool IsExplained(const std::vector<Finding>& findings, const std::string& object) {
  return std::ranges::any_of(findings, [&object](const Finding& finding) {
    return (finding.object + " ").starts_with(object + " ");
  });
}

void ExamineOperators(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const OperatorFacts& deployment : cluster.operators) {
    if (deployment.wanted > 0 && deployment.available == 0 &&
        !IsExplained(findings, deployment.object)) {
      findings.push_back(Problem("OperatorNotRunning", deployment.object, "has no pod that runs",
                                 "kubectl describe and kubectl logs of its pod (-l "
                                 "app=gpu-operator)"));
    }
  }
}

// Of what a node lacks its own finding tells, not each operand that waits for it.
void ExamineOperands(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  std::vector<const NodeFacts*> unsettled;
  for (const NodeFacts& node : cluster.nodes) {
    if (IsUnsettled(cluster, node)) {
      unsettled.push_back(&node);
    }
  }
  for (const OperandFacts& operand : cluster.operands) {
    const auto excused = std::ranges::count_if(
        unsettled, [&operand](const NodeFacts* node) { return Takes(operand.choice, *node); });
    const bool explained = IsExplained(findings, "DaemonSet " + operand.name) ||
                           IsExplained(findings, "DaemonSet " + operand.space + "/" + operand.name);
    if (operand.desired - operand.ready > excused && !explained) {
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
  ExamineCluster(cluster, findings);
  ExaminePolicies(cluster, findings);
  ExamineOperandContainers(cluster, findings);
  std::vector<Finding> workloads;
  for (const RefusalFacts& refusal : cluster.refusals) {
    std::optional<Finding> finding = ExamineRefusal(refusal);
    std::vector<Finding>& place = refusal.operand ? findings : workloads;
    if (finding && std::ranges::find(place, *finding) == place.end()) {
      place.push_back(*std::move(finding));
    }
  }
  ExamineOperators(cluster, findings);
  ExamineOperands(cluster, findings);
  ExamineNodes(cluster, findings);
  std::ranges::move(workloads, std::back_inserter(findings));
  ExamineStarts(cluster, findings);
  ExaminePods(cluster, findings);
  ExamineWorkloadContainers(cluster, findings);
  return findings;
}

bool IsKnownRefusal(const RefusalFacts& refusal) { return ExamineRefusal(refusal).has_value(); }

// What a container runtime or an API server says may have several lines.
std::string LineOf(const Finding& finding) {
  std::string line =
      format("{}  {}: {}; {}", finding.code, finding.object, finding.message, finding.remedy);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string TextOf(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += LineOf(finding) + "\n";
  }
  return text;
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
