// SPDX-License-Identifier: Apache-2.0
// Why is a GPU not used, and why does a pod not get one? Decided from the fields in facts.h. The
// words of refusals are the API server's (validation of non-overcommitable resources, quota).
#include "operator/doctor/findings.h"

#include <algorithm>
#include <array>
#include <chrono>
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
#include "policy/plugin_config.h"
#include "policy/taints.h"

namespace gantry::doctor {
namespace {

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

constexpr char kNotOffered[] = "ResourceNotOffered";

Finding WaitsFor(const NodeFacts& node, const PodFacts& pod, const std::string& message) {
  return Note(kNotOffered, PodName(pod), message,
              format("wait: node {} does not offer its GPUs yet", node.name));
}

bool OffersNone(const NodeFacts& node) {
  return std::ranges::all_of(node.allocatable, [](const auto& each) { return each.second == 0; });
}

// On one of the nodes, that it may be put on, somebody has switched the device plugin off.
std::optional<Finding> OfSwitch(const ClusterFacts& cluster, const PodFacts& pod,
                                const std::vector<const NodeFacts*>& nodes,
                                const std::string& message) {
  for (const NodeFacts* node : nodes) {
    const std::string off = PluginOffBy(cluster, *node);
    if (!off.empty() && OffersNone(*node) && Takes(pod.choice, *node) &&
        Untolerated(pod, *node).empty()) {
      return Problem(
          kNotOffered, PodName(pod),
          format("{}; the device plugin of node {} is switched off ({})", message, node->name, off),
          "switch it on again, or ask for what other nodes offer");
    }
  }
  return std::nullopt;
}

std::vector<const NodeFacts*> AllNodes(const ClusterFacts& cluster) {
  std::vector<const NodeFacts*> nodes;
  nodes.reserve(cluster.nodes.size());
  for (const NodeFacts& node : cluster.nodes) {
    nodes.push_back(&node);
  }
  return nodes;
}

Finding NotOffered(const ClusterFacts& cluster, const PodFacts& pod, const std::string& resource,
                   long long wanted) {
  const std::string message = format("asks for {} {}, which no node offers (offered: {})", wanted,
                                     resource, OfferedResources(cluster.nodes));
  const auto yet = std::ranges::find_if(
      cluster.nodes, [&cluster](const NodeFacts& node) { return MayOfferYet(cluster, node); });
  if (yet != cluster.nodes.end()) {
    return WaitsFor(*yet, pod, message);
  }
  const std::optional<Finding> off = policy::MayBeOffered(resource)
                                         ? OfSwitch(cluster, pod, AllNodes(cluster), message)
                                         : std::nullopt;
  return off.value_or(
      Problem(kNotOffered, PodName(pod), message,
              "ask for a resource that is offered, or look at the findings of the nodes"));
}

// A node that it may be put on and that may yet have what the others lack.
std::optional<Finding> NodeToCome(const ClusterFacts& cluster, const PodFacts& pod,
                                  const std::string& message) {
  const auto yet = std::ranges::find_if(cluster.nodes, [&](const NodeFacts& node) {
    const bool has = std::ranges::any_of(
        pod.wants, [&node](const auto& each) { return CountIn(node.capacity, each.first) > 0; });
    return !has && MayOfferYet(cluster, node) && Takes(pod.choice, node);
  });
  return yet == cluster.nodes.end() ? std::nullopt : std::optional(WaitsFor(*yet, pod, message));
}

// More than any node has: of GPUs that are away for a while the nodes' own findings tell.
std::optional<Finding> TooMany(const ClusterFacts& cluster, const PodFacts& pod) {
  for (const auto& [resource, wanted] : pod.wants) {
    const NodeFacts* largest = nullptr;
    for (const NodeFacts& node : cluster.nodes) {
      const long long most = largest == nullptr ? 0 : CountIn(largest->capacity, resource);
      if (CountIn(node.capacity, resource) > most) {
        largest = &node;
      }
    }
    if (largest == nullptr) {
      return NotOffered(cluster, pod, resource, wanted);
    }
    if (const long long most = CountIn(largest->capacity, resource); most < wanted) {
      const std::string message = format("asks for {} {}, and no node has more than {} (node {})",
                                         wanted, resource, most, largest->name);
      return NodeToCome(cluster, pod, message)
          .value_or(Problem(
              "MoreGpusThanAnyNode", PodName(pod), message,
              format("ask for at most {} in one pod, and spread the work over pods", most)));
    }
  }
  return std::nullopt;
}

bool HoldAll(const GpuCounts& counts, const PodFacts& pod) {
  return std::ranges::all_of(pod.wants, [&counts](const auto& each) {
    return CountIn(counts, each.first) >= each.second;
  });
}

// Where a DaemonSet's pod is to run; empty: no DaemonSet has made it.
std::string PlaceOf(const PodFacts& pod) {
  for (const std::vector<Requirement>& term : pod.choice.terms) {
    for (const Requirement& each : term) {
      if (pod.owner.starts_with("DaemonSet ") && each.of_name && each.values.size() == 1) {
        return each.values[0];
      }
    }
  }
  return "";
}

std::string WantsText(const PodFacts& pod) {
  std::vector<std::string> wants;
  for (const auto& [resource, count] : pod.wants) {
    wants.push_back(format("{} {}", count, resource));
  }
  return Join(wants, " and ");
}

// It is a DaemonSet's, and has its place.
std::optional<Finding> OutOfPlace(const ClusterFacts& cluster, const PodFacts& pod,
                                  const std::string& place) {
  const auto node = std::ranges::find(cluster.nodes, place, &NodeFacts::name);
  // Of GPUs that are not offered now the node's own findings tell.
  if (node == cluster.nodes.end() || (HasGpu(*node) && OffersNone(*node))) {
    return std::nullopt;
  }
  return Problem("NoNodeSelected", PodName(pod),
                 format("is to run on node {}, which does not have {}", place, WantsText(pod)),
                 HasGpu(*node)
                     ? "ask for what that node offers, or let the DaemonSet's nodeSelector leave "
                       "it out"
                     : "add to the DaemonSet's pod template: nodeSelector: "
                       "{nvidia.com/gpu.present: \"true\"}");
}

// No node that it may be put on has its GPUs.
std::optional<Finding> NotSelected(const ClusterFacts& cluster, const PodFacts& pod) {
  const bool somewhere = std::ranges::any_of(
      cluster.nodes, [&pod](const NodeFacts& node) { return HoldAll(node.capacity, pod); });
  const std::string message =
      somewhere ? "its node selector or affinity takes no node that has its GPUs"
                : format("asks for {}, which no node has together", WantsText(pod));
  if (std::optional<Finding> yet = NodeToCome(cluster, pod, message)) {
    return yet;
  }
  if (std::optional<Finding> off = OfSwitch(cluster, pod, AllNodes(cluster), message)) {
    return off;
  }
  if (!somewhere) {
    return Problem(kNotOffered, PodName(pod), message,
                   "ask for what one node offers, or spread the work over pods");
  }
  if (const std::string place = PlaceOf(pod); !place.empty()) {
    return OutOfPlace(cluster, pod, place);
  }
  return Problem("NoNodeSelected", PodName(pod), message,
                 "compare it with the labels of the GPU nodes (`kubectl get node -L "
                 "nvidia.com/gpu.product`)");
}

std::string TaintText(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

// Taints that Kubernetes itself sets when a node is ill or cordoned: a toleration is no remedy.
bool IsKubernetesTaint(const Taint& taint) {
  return taint.key.starts_with(policy::kNodeConditionTaints);
}

bool IsPassing(const ClusterFacts& cluster, const Taint& taint) {
  return policy::PassesByItself(taint.key) ||
         std::ranges::find(cluster.operators, taint.key, &OperatorFacts::startup_taint) !=
             cluster.operators.end();
}

std::string TolerationOf(const Taint& taint) {
  return format("{{key: {}, operator: Exists}}", taint.key);
}

// A node that offers its GPUs, and that only a lasting taint keeps it from; nullptr: none.
const NodeFacts* KeptByTaint(const ClusterFacts& cluster, const PodFacts& pod,
                             const std::vector<const NodeFacts*>& selected) {
  const auto lasts = [&cluster](const Taint& taint) {
    return !IsKubernetesTaint(taint) && !IsPassing(cluster, taint);
  };
  for (const NodeFacts* node : selected) {
    const std::vector<Taint> taints = Untolerated(pod, *node);
    if (!taints.empty() && std::ranges::all_of(taints, lasts) && !IsChanging(*node) &&
        HoldAll(node->allocatable, pod)) {
      return node;
    }
  }
  return nullptr;
}

Finding Blocked(const ClusterFacts& cluster, const PodFacts& pod,
                const std::vector<const NodeFacts*>& nodes) {
  std::set<std::string> lacking;
  std::set<std::string> tolerations;
  std::set<std::string> others;
  bool passing = false;
  for (const NodeFacts* node : nodes) {
    passing = passing || IsChanging(*node);
    for (const Taint& taint : Untolerated(pod, *node)) {
      const bool passes = IsPassing(cluster, taint);
      passing = passing || passes;
      const bool other = passes || IsKubernetesTaint(taint);
      (other ? others : lacking).insert(TaintText(taint));
      if (!other) {
        tolerations.insert(TolerationOf(taint));
      }
    }
  }
  if (!lacking.empty()) {
    const std::string taints = Join({lacking.begin(), lacking.end()}, ", ");
    return Problem(
        "TolerationMissing", PodName(pod),
        format("lacks a toleration for the taint {} of every node that has its GPUs", taints),
        format("add to its spec: tolerations: [{}]",
               Join({tolerations.begin(), tolerations.end()}, ", ")));
  }
  const auto make = passing ? Note : Problem;
  return make("NodesUnschedulable", PodName(pod),
              format("every node that has its GPUs is out of service ({})",
                     Join({others.begin(), others.end()}, ", ")),
              passing ? "wait: a node is being started, changed or taken away"
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

// What the scheduler says before it speaks of preemption.
std::string FirstSentence(const std::string& message) {
  std::string sentence = message.substr(0, message.find(". "));
  while (sentence.ends_with('.')) {
    sentence.pop_back();
  }
  return sentence;
}

// Its other words: why nodes refuse the pod for something that is not a resource. Of taints, labels
// and cordons findings of their own tell.
std::vector<std::string> OtherReasons(const std::string& message) {
  constexpr std::string_view kBefore = " nodes are available: ";
  static constexpr std::array<std::string_view, 8> kKnown = {
      "Insufficient ",       "taint",
      "didn't tolerate",     "Pod's node affinity",
      "match node affinity", "match node selector",
      "[NodeAffinity]",      "were unschedulable"};
  const std::string sentence = FirstSentence(message);
  const size_t before = sentence.find(kBefore);
  if (before == std::string::npos) {
    return {};
  }
  std::vector<std::string> reasons;
  for (const std::string& part :
       Split(std::string_view(sentence).substr(before + kBefore.size()), ',')) {
    std::string reason(Trim(part));
    const bool known = std::ranges::any_of(kKnown, [&reason](std::string_view words) {
      return reason.find(words) != std::string::npos;
    });
    if (!known && !reason.empty()) {
      reasons.push_back(std::move(reason));
    }
  }
  return reasons;
}

// Whether a node that refuses the pod for that reason has its GPUs free: the scheduler looks at
// ports before, and at these after them. Plugins of others have other words.
bool IsOfFreeGpus(const std::string& reason, const Shortage& shortage) {
  static constexpr std::array<std::string_view, 4> kAfterGpus = {
      "Too many pods", "olume", "topology spread", "affinity rules"};
  return (shortage.gpus == 0 && reason.find("free ports") != std::string::npos) ||
         std::ranges::any_of(kAfterGpus, [&reason](std::string_view words) {
           return reason.find(words) != std::string::npos;
         });
}

// Nodes that the scheduler asks for GPUs too and that have none, or too few.
long long NodesWithout(const PodFacts& pod, const std::vector<NodeFacts>& nodes) {
  return std::ranges::count_if(nodes, [&pod](const NodeFacts& node) {
    return !HoldAll(node.allocatable, pod) && Takes(pod.choice, node) &&
           Untolerated(pod, node).empty();
  });
}

// Nodes that it could use have the GPUs, and do not offer them now. While nobody changes them, and
// nobody has switched them off, their own findings say why.
std::optional<Finding> Away(const ClusterFacts& cluster, const PodFacts& pod,
                            const std::vector<const NodeFacts*>& nodes) {
  const auto changing =
      std::ranges::find_if(nodes, [](const NodeFacts* node) { return IsChanging(*node); });
  if (changing != nodes.end()) {
    return Note(kNotOffered, PodName(pod),
                format("asks for GPUs of node {}, whose driver or MIG layout is being changed",
                       (*changing)->name),
                "wait");
  }
  return OfSwitch(cluster, pod, nodes, format("asks for {}", WantsText(pod)));
}

Finding InUse(const ClusterFacts& cluster, const PodFacts& pod, long long able,
              const std::vector<const NodeFacts*>& selected) {
  Finding finding =
      Note("GpusInUse", PodName(pod),
           format("waits: the GPUs of the {} node(s) that it could use are taken", able),
           "wait, end other pods, or add a node");
  if (const NodeFacts* kept = KeptByTaint(cluster, pod, selected); kept != nullptr) {
    std::vector<std::string> taints;
    std::vector<std::string> tolerations;
    for (const Taint& taint : Untolerated(pod, *kept)) {
      taints.push_back(TaintText(taint));
      tolerations.push_back(TolerationOf(taint));
    }
    finding.message +=
        format("; the taint {} keeps it from node {}", Join(taints, ", "), kept->name);
    finding.remedy += format(", or tolerate that node: tolerations: [{}]", Join(tolerations, ", "));
  }
  return finding;
}

// A scheduler tells of each pod that it can't place, soon after the pod was made.
std::optional<Finding> Unseen(const ClusterFacts& cluster, const PodFacts& pod) {
  constexpr std::chrono::seconds kSoon{10};
  constexpr std::chrono::minutes kStart{1};  // another one takes over
  if (pod.unseen_by.empty() || pod.made_at > Rfc3339(cluster.now - kSoon)) {
    return std::nullopt;
  }
  const auto make = pod.made_at > Rfc3339(cluster.now - kStart) ? Note : Problem;
  return make("SchedulerMissing", PodName(pod),
              format("no scheduler has looked at it: its schedulerName is {}", pod.unseen_by),
              "correct spec.schedulerName (default-scheduler is Kubernetes' own), or look why that "
              "scheduler does not run");
}

std::optional<Finding> ExaminePod(const ClusterFacts& cluster, const PodFacts& pod) {
  if (std::optional<Finding> unseen = Unseen(cluster, pod)) {
    return unseen;
  }
  const std::vector<NodeFacts>& nodes = cluster.nodes;
  if (std::optional<Finding> too_many = TooMany(cluster, pod)) {
    return too_many;
  }
  std::vector<const NodeFacts*> selected;
  std::vector<const NodeFacts*> open;
  for (const NodeFacts& node : nodes) {
    if (HoldAll(node.capacity, pod) && Takes(pod.choice, node)) {
      selected.push_back(&node);
      if (Untolerated(pod, node).empty()) {
        open.push_back(&node);
      }
    }
  }
  if (selected.empty()) {
    return NotSelected(cluster, pod);
  }
  if (open.empty()) {
    return Blocked(cluster, pod, selected);
  }
  const auto able = std::ranges::count_if(
      open, [&pod](const NodeFacts* node) { return HoldAll(node->allocatable, pod); });
  if (able == 0) {
    return Away(cluster, pod, open);
  }
  const Shortage shortage = ShortageOf(pod.scheduler);
  const std::vector<std::string> reasons = OtherReasons(pod.scheduler);
  if (shortage.gpus > NodesWithout(pod, nodes) ||
      (shortage.gpus > 0 && shortage.others.empty() && reasons.empty())) {
    return InUse(cluster, pod, able, selected);
  }
  if (!reasons.empty()) {
    const bool sure = std::ranges::all_of(
        reasons, [&shortage](const std::string& reason) { return IsOfFreeGpus(reason, shortage); });
    return (sure && !IsNew(cluster, pod.made_at) ? Problem : Note)(
        "PodDoesNotFit", PodName(pod),
        format("is put on none of the {} node(s) that have its GPUs: {}", able,
               Join(reasons, ", ")),
        "change what the scheduler's words name: the pods of those nodes, or the pod's volumes, "
        "ports, affinity or spread");
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
  const char* remedy;       // of an operand
  const char* of_workload;  // of pods with GPUs
};

constexpr char kExempt[] = "exempt the operator's namespace from that policy";
constexpr char kObey[] =
    "change its pod template as the words say, or exempt its namespace from that policy";
constexpr char kQuota[] = "raise the ResourceQuota of the namespace";
constexpr char kOwnQuota[] = "raise the ResourceQuota of its namespace, or end other pods in it";
constexpr char kLimits[] =
    "set resources of its section, or change the namespace's ResourceQuota or LimitRange";
constexpr char kOwnLimits[] =
    "set the resources of its pod template, or change the ResourceQuota or LimitRange of its "
    "namespace";
constexpr char kConstraint[] =
    "let its ServiceAccount use a SecurityContextConstraint that allows what the words name";
constexpr char kChange[] = "change what refuses them";

constexpr std::array kRefusers = std::to_array<Refuser>({
    {"denied the request", kExempt, kObey},
    {"denied request", kExempt, kObey},
    {"exceeded quota", kQuota, kOwnQuota},
    {"failed quota", kLimits, kOwnLimits},
    {" usage per ", kLimits, kOwnLimits},
    {"security context constraint", kConstraint, kConstraint},
    {"violates PodSecurity", kChange,
     "change its pod template as the words say, or label its namespace "
     "pod-security.kubernetes.io/enforce with a level that allows it"},
    {"error looking up service account", kChange,
     "make that ServiceAccount, or correct serviceAccountName of its pod template"},
    {"failed calling webhook", kChange, "repair that webhook, or exempt its namespace from it"},
    {"", kChange, kChange},
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
      refusal.operand ? refuser->remedy : refuser->of_workload);
}

// Words about GPUs, whoever asks for them.
std::optional<Finding> RefusedGpus(const RefusalFacts& refusal) {
  const auto says = [&refusal](std::string_view words) {
    return refusal.message.find(words) != std::string::npos;
  };
  if (refusal.message.find("Limit must be set for non overcommitable resources") !=
      std::string::npos) {
    return Problem(
        "LimitsMissing", refusal.object,
        "its pods are refused: a container has requests for a GPU without limits",
        "set resources.limits for nvidia.com/gpu in its pod template, or `default` beside "
        "`defaultRequest` in the namespace's LimitRange");
  }
  // "resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2",
  // "resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer"
  if (says("must be equal to nvidia.com/") ||
      (says("[nvidia.com/") && says("must be an integer"))) {
    return Problem("LimitsInvalid", refusal.object, "its pods are refused: " + refusal.message,
                   "ask for whole GPUs, and for as many in resources.requests as in "
                   "resources.limits");
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
  if ((says("RuntimeClass \"nvidia") || (refusal.wants_gpus && says("RuntimeClass \""))) &&
      says("not found")) {
    return Problem(
        "RuntimeClassMissing", refusal.object,
        "its pods are refused: " + refusal.message.substr(refusal.message.find("RuntimeClass \"")),
        "correct runtimeClassName, leave it out (GPUs come by CDI), or set "
        "operator.runtimeClass to the name");
  }
  return std::nullopt;
}

Finding RefusedOperand(const RefusalFacts& refusal) {
  const auto says = [&refusal](std::string_view words) {
    return refusal.message.find(words) != std::string::npos;
  };
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

// Of a namespace that is being deleted nobody misses pods.
std::optional<Finding> ExamineRefusal(const RefusalFacts& refusal) {
  if (std::optional<Finding> finding = RefusedGpus(refusal)) {
    return finding;
  }
  if (refusal.operand) {
    return RefusedOperand(refusal);
  }
  const bool ends = refusal.message.find("because it is being terminated") != std::string::npos;
  return refusal.wants_gpus && !ends ? std::optional(Refused(refusal)) : std::nullopt;
}

// --- operands, policy ----------------------------------------------------------------------------

constexpr char kPolicyNotReady[] = "ClusterPolicyNotReady";
constexpr char kDriverNotReady[] = "DriverNotReady";

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
    const bool unseen = policy.state.empty();
    const auto make = unseen && IsNew(cluster, policy.made_at) ? Note : Problem;
    findings.push_back(make(kPolicyNotReady, object, WhyNot(policy),
                            unseen ? "look at the operator's log" : "see the other findings"));
  }
  for (const PolicyFacts& driver : cluster.drivers) {
    if (driver.state == "notReady") {
      findings.push_back(Problem(kDriverNotReady, driver.object, WhyNot(driver),
                                 "correct the field, or see the other findings"));
    }
  }
}

// A policy that is not ready because nodes or operands are new or being changed, and for nothing
// else, is no trouble.
void ExcusePolicies(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  std::set<std::string> waiting;  // for their operands
  for (const auto* policies : {&cluster.policies, &cluster.drivers}) {
    for (const PolicyFacts& policy : *policies) {
      const bool waits = std::ranges::any_of(policy.conditions, [](const Condition& condition) {
        return condition.type == "Error" && condition.holds &&
               (condition.reason == "OperandNotReady" || condition.reason == "NFDLabelsMissing" ||
                condition.reason == kDriverNotReady);
      });
      if (waits) {
        waiting.insert(policy.object);
      }
    }
  }
  const auto waits = [&waiting](const Finding& finding) {
    return waiting.contains(finding.object) &&
           (finding.code == kPolicyNotReady || finding.code == kDriverNotReady);
  };
  const bool wrong = std::ranges::any_of(findings, [&waits](const Finding& finding) {
    return finding.severity == Severity::kProblem && !waits(finding);
  });
  const bool under_way =
      std::ranges::any_of(
          cluster.nodes,
          [&cluster](const NodeFacts& node) { return IsUnfinished(cluster, node); }) ||
      std::ranges::any_of(cluster.operands, [&cluster](const OperandFacts& operand) {
        return IsNew(cluster, operand.made_at) || !operand.young.empty() ||
               (operand.rolls && operand.updated < operand.desired);
      });
  if (wrong || !under_way) {
    return;
  }
  for (Finding& finding : findings) {
    if (waits(finding)) {
      finding.severity = Severity::kNote;
      finding.remedy = "wait: nodes or operands are being started or changed";
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
      const bool starts = IsNew(cluster, deployment.since);
      findings.push_back((starts ? Note : Problem)(
          "OperatorNotRunning", deployment.object, "has no pod that runs",
          starts ? "wait: it is being started"
                 : "kubectl describe and kubectl logs of its pod (-l app=gpu-operator)"));
    }
  }
}

// Of what a node lacks its own finding tells, not each operand that waits for it.
void ExamineOperands(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  std::map<std::string, const NodeFacts*> unsettled;
  for (const NodeFacts& node : cluster.nodes) {
    if (IsUnsettled(cluster, node)) {
      unsettled.emplace(node.name, &node);
    }
  }
  for (const OperandFacts& operand : cluster.operands) {
    if (IsNew(cluster, operand.made_at)) {
      continue;
    }
    const auto excused =
        std::ranges::count_if(
            unsettled,
            [&operand](const auto& each) { return Takes(operand.choice, *each.second); }) +
        std::ranges::count_if(operand.young, [&unsettled](const std::string& node) {
          return !unsettled.contains(node);
        });
    const bool explained = IsExplained(findings, "DaemonSet " + operand.name) ||
                           IsExplained(findings, "DaemonSet " + operand.space + "/" + operand.name);
    if (operand.desired - operand.ready > excused && !explained) {
      const bool placed = operand.scheduler.empty();
      findings.push_back(Problem(
          "OperandNotReady", "DaemonSet " + operand.name,
          format("{} of {} pods are ready{}", operand.ready, operand.desired,
                 placed ? "" : ": " + FirstSentence(operand.scheduler)),
          placed ? format("kubectl describe and kubectl logs of its pods (-l app={})", operand.name)
                 : "set resources of its section in the ClusterPolicy, or make room on the node"));
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
  ExcusePolicies(cluster, findings);
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
