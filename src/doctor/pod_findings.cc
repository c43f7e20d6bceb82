// SPDX-License-Identifier: Apache-2.0
// Why does a pod not get its GPUs from the scheduler? Derived from nodes, taints and the pods'
// requests, and if that is inconclusive, from the scheduler's message.
#include "doctor/pod_findings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "doctor/claim_findings.h"
#include "doctor/node_choice.h"
#include "doctor/scheduler_message.h"
#include "doctor/tolerations.h"
#include "policy/plugin_config.h"

namespace gantry::doctor {
namespace {

long long CountIn(const GpuCounts& counts, const std::string& resource) {
  const auto count = counts.find(resource);
  return count == counts.end() ? 0 : count->second;
}

std::string PodName(const PodFacts& pod) { return "pod " + pod.ns + "/" + pod.name; }

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
constexpr char kNotSelected[] = "NoNodeSelected";
constexpr char kTooMany[] = "MoreGpusThanAnyNode";
constexpr char kNotTolerated[] = "TolerationMissing";
constexpr char kOutOfService[] = "NodesUnschedulable";

Finding WaitsFor(const NodeFacts& node, const PodFacts& pod, const std::string& message) {
  return Note(kNotOffered, PodName(pod), message,
              format("wait: node {} does not offer its GPUs yet", node.name));
}

bool OffersNone(const NodeFacts& node) {
  return std::ranges::all_of(node.allocatable, [](const auto& each) { return each.second == 0; });
}

// How the device plugin is disabled on one of the nodes that the pod may run on; empty: on none.
std::string SwitchedOff(const StagedCluster& cluster, const PodFacts& pod,
                        const std::vector<const NodeFacts*>& nodes) {
  for (const NodeFacts* node : nodes) {
    const std::string off = cluster.Of(*node).plugin_off_by;
    if (!off.empty() && OffersNone(*node) && Takes(pod.choice, *node) &&
        Untolerated(pod, *node).empty()) {
      return format("the device plugin of node {} is disabled ({})", node->name, off);
    }
  }
  return "";
}

std::optional<Finding> OfSwitch(const StagedCluster& cluster, const PodFacts& pod,
                                const std::vector<const NodeFacts*>& nodes,
                                const std::string& message) {
  const std::string off = SwitchedOff(cluster, pod, nodes);
  return off.empty()
             ? std::nullopt
             : std::optional(Problem(kNotOffered, PodName(pod), format("{}; {}", message, off),
                                     "enable it, or request what other nodes offer"));
}

std::vector<const NodeFacts*> AllNodes(const StagedCluster& cluster) {
  std::vector<const NodeFacts*> nodes;
  nodes.reserve(cluster.facts.nodes.size());
  for (const NodeFacts& node : cluster.facts.nodes) {
    nodes.push_back(&node);
  }
  return nodes;
}

Finding NotOffered(const StagedCluster& cluster, const PodFacts& pod, const std::string& resource,
                   long long wanted) {
  const std::string message = format("requests {} {}, which no node offers (offered: {})", wanted,
                                     resource, OfferedResources(cluster.facts.nodes));
  const auto yet = std::ranges::find_if(cluster.facts.nodes, [&cluster](const NodeFacts& node) {
    return cluster.Of(node).may_offer;
  });
  if (yet != cluster.facts.nodes.end()) {
    return WaitsFor(*yet, pod, message);
  }
  const std::optional<Finding> off = policy::MayBeOffered(resource)
                                         ? OfSwitch(cluster, pod, AllNodes(cluster), message)
                                         : std::nullopt;
  return off.value_or(
      Problem(kNotOffered, PodName(pod), message,
              "request a resource that is offered, or check the findings of the nodes"));
}

// A node that it may run on and that may still get what the others lack.
std::optional<Finding> NodeToCome(const StagedCluster& cluster, const PodFacts& pod,
                                  const std::string& message) {
  const auto yet = std::ranges::find_if(cluster.facts.nodes, [&](const NodeFacts& node) {
    const bool has = std::ranges::any_of(
        pod.wants, [&node](const auto& each) { return CountIn(node.capacity, each.first) > 0; });
    return !has && cluster.Of(node).may_offer && Takes(pod.choice, node);
  });
  return yet == cluster.facts.nodes.end() ? std::nullopt
                                          : std::optional(WaitsFor(*yet, pod, message));
}

// More than any node has: temporarily missing GPUs have findings on their nodes.
std::optional<Finding> TooMany(const StagedCluster& cluster, const PodFacts& pod) {
  for (const auto& [resource, wanted] : pod.wants) {
    const NodeFacts* largest = nullptr;
    for (const NodeFacts& node : cluster.facts.nodes) {
      const long long most = largest == nullptr ? 0 : CountIn(largest->capacity, resource);
      if (CountIn(node.capacity, resource) > most) {
        largest = &node;
      }
    }
    if (largest == nullptr) {
      return NotOffered(cluster, pod, resource, wanted);
    }
    if (const long long most = CountIn(largest->capacity, resource); most < wanted) {
      const std::string message = format("requests {} {}, but no node has more than {} (node {})",
                                         wanted, resource, most, largest->name);
      return NodeToCome(cluster, pod, message)
          .value_or(
              Problem(kTooMany, PodName(pod), message,
                      format("request at most {} in one pod, and spread the work over several pods",
                             most)));
    }
  }
  return std::nullopt;
}

bool HoldAll(const GpuCounts& counts, const PodFacts& pod) {
  return std::ranges::all_of(pod.wants, [&counts](const auto& each) {
    return CountIn(counts, each.first) >= each.second;
  });
}

// The node that a DaemonSet's pod is for; empty: not a DaemonSet's pod.
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

// It is a DaemonSet's, and bound to its node.
std::optional<Finding> OutOfPlace(const StagedCluster& cluster, const PodFacts& pod,
                                  const std::string& place) {
  const auto node = std::ranges::find(cluster.facts.nodes, place, &NodeFacts::name);
  // GPUs that are not offered now have findings on their nodes.
  if (node == cluster.facts.nodes.end() || (cluster.Of(*node).has_gpu && OffersNone(*node))) {
    return std::nullopt;
  }
  return Problem(
      kNotSelected, PodName(pod),
      format("must run on node {}, which does not have {}", place, WantsText(pod)),
      cluster.Of(*node).has_gpu
          ? "request what that node offers, or exclude the node with the DaemonSet's nodeSelector"
          : "add to the DaemonSet's pod template: nodeSelector: "
            "{nvidia.com/gpu.present: \"true\"}");
}

// No node that it may run on has its GPUs.
std::optional<Finding> NotSelected(const StagedCluster& cluster, const PodFacts& pod) {
  const bool somewhere = std::ranges::any_of(
      cluster.facts.nodes, [&pod](const NodeFacts& node) { return HoldAll(node.capacity, pod); });
  const std::string message =
      somewhere ? "its node selector or affinity matches no node with the GPUs that it requests"
                : format("requests {}, which no single node offers", WantsText(pod));
  if (std::optional<Finding> yet = NodeToCome(cluster, pod, message)) {
    return yet;
  }
  if (std::optional<Finding> off = OfSwitch(cluster, pod, AllNodes(cluster), message)) {
    return off;
  }
  if (!somewhere) {
    return Problem(kNotOffered, PodName(pod), message,
                   "request what one node offers, or spread the work over several pods");
  }
  if (const std::string place = PlaceOf(pod); !place.empty()) {
    return OutOfPlace(cluster, pod, place);
  }
  return Problem(kNotSelected, PodName(pod), message,
                 "compare them with the labels of the GPU nodes (`kubectl get node -L "
                 "nvidia.com/gpu.product`)");
}

// A node that offers its GPUs, where only a permanent taint keeps the pod off; nullptr: none.
const NodeFacts* KeptByTaint(const StagedCluster& cluster, const PodFacts& pod,
                             const std::vector<const NodeFacts*>& selected) {
  const auto lasts = [&cluster](const Taint& taint) {
    return !IsKubernetesTaint(taint) && !IsPassing(cluster.facts, taint);
  };
  for (const NodeFacts* node : selected) {
    const std::vector<Taint> taints = Untolerated(pod, *node);
    if (!taints.empty() && std::ranges::all_of(taints, lasts) && !cluster.Of(*node).changing() &&
        HoldAll(node->allocatable, pod)) {
      return node;
    }
  }
  return nullptr;
}

// A node that offers its GPUs, and is closed for all pods; nullptr: none.
const NodeFacts* KeptByCordon(const StagedCluster& cluster, const PodFacts& pod,
                              const std::vector<const NodeFacts*>& selected) {
  const auto kept = std::ranges::find_if(selected, [&](const NodeFacts* node) {
    return node->cordoned && !cluster.Of(*node).changing() && HoldAll(node->allocatable, pod) &&
           std::ranges::all_of(Untolerated(pod, *node), [](const Taint& taint) {
             return taint.key == "node.kubernetes.io/unschedulable";
           });
  });
  return kept == selected.end() ? nullptr : *kept;
}

Finding Blocked(const StagedCluster& cluster, const PodFacts& pod,
                const std::vector<const NodeFacts*>& nodes) {
  std::set<std::string> lacking;
  std::set<std::string> tolerations;
  std::set<std::string> others;
  bool passing = false;
  for (const NodeFacts* node : nodes) {
    passing = passing || cluster.Of(*node).changing();
    for (const Taint& taint : Untolerated(pod, *node)) {
      const bool passes = IsPassing(cluster.facts, taint);
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
        kNotTolerated, PodName(pod),
        format("has no toleration for the taint {} of every node with the GPUs that it requests",
               taints),
        format("add to its spec: tolerations: [{}]",
               Join({tolerations.begin(), tolerations.end()}, ", ")));
  }
  const auto make = passing ? Note : Problem;
  return make(kOutOfService, PodName(pod),
              format("every node with the GPUs that it requests is unschedulable ({})",
                     Join({others.begin(), others.end()}, ", ")),
              passing ? "wait: a node is being started, changed or removed"
                      : "uncordon a node (`kubectl uncordon`), or check why it is not ready");
}

// Nodes that the scheduler also counts, and that have no GPUs or too few.
long long NodesWithout(const PodFacts& pod, const std::vector<NodeFacts>& nodes) {
  return std::ranges::count_if(nodes, [&pod](const NodeFacts& node) {
    return !HoldAll(node.allocatable, pod) && Takes(pod.choice, node) &&
           Untolerated(pod, node).empty();
  });
}

// Nodes that it could use have the GPUs, and do not offer them now. If nothing changes or disables
// them, their own findings say why.
std::optional<Finding> Away(const StagedCluster& cluster, const PodFacts& pod,
                            const std::vector<const NodeFacts*>& nodes) {
  const auto changing = std::ranges::find_if(
      nodes, [&cluster](const NodeFacts* node) { return cluster.Of(*node).changing(); });
  if (changing != nodes.end()) {
    return Note(kNotOffered, PodName(pod),
                format("requests GPUs of node {}, whose driver or MIG layout is being changed",
                       (*changing)->name),
                "wait");
  }
  return OfSwitch(cluster, pod, nodes, format("requests {}", WantsText(pod)));
}

Finding InUse(const StagedCluster& cluster, const PodFacts& pod, long long able,
              const std::vector<const NodeFacts*>& selected) {
  Finding finding =
      Note("GpusInUse", PodName(pod),
           format("waits: all GPUs of the {} node(s) that it can use are in use", able),
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
  if (const NodeFacts* kept = KeptByCordon(cluster, pod, selected); kept != nullptr) {
    finding.message += format("; node {} is cordoned", kept->name);
    finding.remedy += format(", or kubectl uncordon {}", kept->name);
  }
  if (const std::string off = SwitchedOff(cluster, pod, AllNodes(cluster)); !off.empty()) {
    finding.message += "; " + off;
    finding.remedy += ", or enable it";
  }
  return finding;
}

// A scheduler reports each pod that it can't place soon after its creation.
std::optional<Finding> Unseen(const StagedCluster& cluster, const PodFacts& pod) {
  constexpr std::chrono::seconds kSoon{10};
  constexpr std::chrono::minutes kStart{1};  // another one takes over
  if (pod.unseen_by.empty() || pod.made_at > Rfc3339(cluster.facts.now - kSoon)) {
    return std::nullopt;
  }
  const auto make = pod.made_at > Rfc3339(cluster.facts.now - kStart) ? Note : Problem;
  return make("SchedulerMissing", PodName(pod),
              format("no scheduler has handled it: its schedulerName is {}", pod.unseen_by),
              "correct spec.schedulerName (default-scheduler is Kubernetes' own), or check why "
              "that scheduler does not run");
}

// An autoscaler adds a node: what the present nodes lack is no problem meanwhile.
void ExcuseScaleUp(const StagedCluster& cluster, const PodFacts& pod, Finding& finding) {
  constexpr std::chrono::minutes kScaleUp(15);
  static constexpr std::array<std::string_view, 5> kOfNodes = {kNotOffered, kNotSelected, kTooMany,
                                                               kNotTolerated, kOutOfService};
  if (pod.scaled_at > Rfc3339(cluster.facts.now - kScaleUp) &&
      finding.severity == Severity::kProblem &&
      std::ranges::find(kOfNodes, finding.code) != kOfNodes.end()) {
    finding.severity = Severity::kNote;
    finding.remedy = "wait: an autoscaler is adding a node";
  }
}

std::optional<Finding> ExaminePod(const StagedCluster& cluster, const PodFacts& pod) {
  if (std::optional<Finding> unseen = Unseen(cluster, pod)) {
    return unseen;
  }
  if (IsByClaims(cluster.facts)) {
    return ClaimWaits(cluster.facts, pod);
  }
  const std::vector<NodeFacts>& nodes = cluster.facts.nodes;
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
    return (sure && !IsNew(cluster.facts, pod.made_at) ? Problem : Note)(
        "PodDoesNotFit", PodName(pod),
        format("fits none of the {} node(s) with the GPUs that it requests: {}", able,
               Join(reasons, ", ")),
        "change what the scheduler's message names: the pods of those nodes, or the pod's volumes, "
        "ports, affinity or topology spread");
  }
  if (!shortage.others.empty()) {
    return Problem(
        "NodeResourcesShort", PodName(pod),
        format("can't use free GPUs: their nodes have not enough {}", Join(shortage.others, ", ")),
        "request less, or taint the GPU nodes (nvidia.com/gpu=present:NoSchedule) to keep pods "
        "without GPUs away");
  }
  return std::nullopt;
}

}  // namespace

void ExaminePods(const StagedCluster& cluster, std::vector<Finding>& findings) {
  if (IsUnread(cluster.facts, kNodesPart)) {
    return;
  }
  std::map<std::pair<std::string, std::string>, size_t> first;  // owner and code -> finding
  std::map<size_t, int> more;
  for (const PodFacts& pod : cluster.facts.pending) {
    std::optional<Finding> finding = pod.gated ? std::nullopt : ExaminePod(cluster, pod);
    if (!finding) {
      continue;
    }
    ExcuseScaleUp(cluster, pod, *finding);
    if (!pod.owner.empty()) {
      const auto [at, added] =
          first.emplace(std::pair(pod.ns + "/" + pod.owner, finding->code), findings.size());
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

}  // namespace gantry::doctor
