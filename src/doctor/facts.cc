// SPDX-License-Identifier: Apache-2.0
// Which fields of nodes, operands and the operator explain why a GPU is not used? Pure: JSON in,
// structs out.
#include "doctor/facts.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "doctor/object_fields.h"
#include "kube/object.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

// The DaemonSets of the ClusterPolicy's drivers and of NVIDIADrivers'.
constexpr std::array<std::string_view, 4> kDriverSets = {
    "nvidia-driver-daemonset", "nvidia-gpu-driver-", "nvidia-vgpu-driver-",
    "nvidia-vgpu-host-manager-driver-"};

// The DCGM exporter's variable: whether metrics have pod names.
constexpr char kExporterAsks[] = "DCGM_EXPORTER_KUBERNETES";

// Prefixes of taints that autoscalers and clouds set on nodes that they remove.
constexpr std::array<std::string_view, 4> kLeaving = {
    "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupt",
    "cloud.google.com/impending-node-termination", "aws-node-termination-handler/"};

// When the label's writer last wrote it or another of its fields (meta/v1 ManagedFieldsEntry).
std::string WrittenAt(const Json& object, const std::string& label) {
  for (const Json& entry : ListAt(object, "metadata.managedFields")) {
    const Json* owned = At(entry, {"fieldsV1", "f:metadata", "f:labels", "f:" + label});
    if (owned != nullptr) {
      return TextAt(entry, "time");
    }
  }
  return "";
}

bool IsOfLeaving(const Taint& taint) {
  return std::ranges::any_of(
      kLeaving, [&taint](std::string_view begin) { return taint.key.starts_with(begin); });
}

}  // namespace

NodeFacts NodeFrom(const Json& node) {
  NodeFacts facts;
  facts.name = TextAt(node, "metadata.name");
  facts.made_at = TextAt(node, "metadata.creationTimestamp");
  facts.labels = TextMap(At(node, "metadata.labels"));
  facts.capacity = GpusIn(At(node, "status.capacity"));
  facts.allocatable = GpusIn(At(node, "status.allocatable"));
  for (const Json& taint : ListAt(node, "spec.taints")) {
    facts.taints.push_back({.key = TextAt(taint, "key"),
                            .value = TextAt(taint, "value"),
                            .effect = TextAt(taint, "effect")});
  }
  facts.leaving = At(node, "metadata.deletionTimestamp") != nullptr ||
                  std::ranges::any_of(facts.taints, IsOfLeaving);
  facts.cordoned = BoolAt(node, "spec.unschedulable", false);
  facts.upgrade_cordon = kube::AnnotationOf(node, names::kUpgradeCordon) != nullptr;
  const std::vector<Condition> conditions = ConditionsOf(node);
  for (const Condition& condition : conditions) {
    if (condition.type == "Ready") {
      facts.ready = condition.holds;
      facts.why_not_ready = condition.holds ? "" : condition.message;
    } else if (condition.type == names::kGpuHealthyCondition && !condition.holds) {
      facts.gpus_out = condition.message;
    } else if (condition.type == names::kMigHeldCondition && condition.holds) {
      facts.mig_held = condition.message;
      facts.mig_held_since = condition.since;
    }
  }
  for (const std::string& label :
       {std::string(names::kMigConfigState), std::string(names::kDriverUpgradeState),
        std::string(names::kGpuValidation), DeployLabel("device-plugin")}) {
    if (std::string at = WrittenAt(node, label); !at.empty()) {
      facts.written[label] = std::move(at);
    }
  }
  return facts;
}

std::string DeployLabel(std::string_view operand) {
  return std::string(names::kDeployPrefix).append(operand);
}

std::string ValueOf(const NodeFacts& node, const std::string& label) {
  const auto at = node.labels.find(label);
  return at == node.labels.end() ? "" : at->second;
}

bool LabelIs(const NodeFacts& node, const std::string& label, std::string_view value) {
  return ValueOf(node, label) == value;
}

std::string NodeName(const NodeFacts& node) { return "node " + node.name; }

const NodeFacts* NodeNamed(const ClusterFacts& cluster, const std::string& name) {
  const auto found = std::ranges::find(cluster.nodes, name, &NodeFacts::name);
  return found == cluster.nodes.end() ? nullptr : &*found;
}

std::optional<OperandFacts> OperandFrom(const Json& daemon_set) {
  if (!IsOurs(daemon_set)) {
    return std::nullopt;
  }
  return OperandFacts{
      .ns = TextAt(daemon_set, "metadata.namespace"),
      .name = TextAt(daemon_set, "metadata.name"),
      .desired = IntAt(daemon_set, "status.desiredNumberScheduled", 0),
      .ready = IntAt(daemon_set, "status.numberReady", 0),
      .updated = IntAt(daemon_set, "status.updatedNumberScheduled", 0),
      .rolls = TextAt(daemon_set, "spec.updateStrategy.type") != "OnDelete",
      .sees_pods = std::ranges::any_of(
          ListAt(daemon_set, "spec.template.spec.volumes"),
          [](const Json& volume) {
            return TextAt(volume, "hostPath.path").find("pod-resources") != std::string::npos;
          }),
      .asks_pods =
          std::ranges::all_of(ListAt(daemon_set, "spec.template.spec.containers"),
                              [](const Json& container) {
                                return ParseBool(EnvOf(container, kExporterAsks)).value_or(true);
                              }),
      .publishes = std::ranges::any_of(
          ListAt(daemon_set, "spec.template.spec.containers"),
          [](const Json& container) { return EnvOf(container, "PUBLISH") == "true"; }),
      .made_at = TextAt(daemon_set, "metadata.creationTimestamp"),
      .choice = ChoiceOf(daemon_set, "spec.template.spec")};
}

std::string ObjectOf(const OperandFacts& operand) {
  return format("{} {}/{}", kDaemonSet, operand.ns, operand.name);
}

OperatorFacts OperatorFrom(const Json& deployment) {
  OperatorFacts facts = {.object = ObjectName(deployment),
                         .ns = kube::KeyOf(deployment).ns,
                         .wanted = IntAt(deployment, "spec.replicas", 1),
                         .available = IntAt(deployment, "status.availableReplicas", 0),
                         .since = TextAt(deployment, "metadata.creationTimestamp")};
  for (const Json& condition : ListAt(deployment, "status.conditions")) {
    if (TextAt(condition, "type") == "Available") {
      facts.since = std::max(facts.since, TextAt(condition, "lastTransitionTime"));
    }
  }
  for (const Json& container : ListAt(deployment, "spec.template.spec.containers")) {
    if (std::string key = EnvOf(container, "STARTUP_TAINT"); !key.empty()) {
      facts.startup_taint = std::move(key);
    }
  }
  return facts;
}

std::string OperatorNamespace(const ClusterFacts& cluster) {
  for (const PolicyFacts& policy : cluster.policies) {
    if (!policy.ns.empty()) {
      return policy.ns;
    }
  }
  if (!cluster.own_namespace.empty()) {
    return cluster.own_namespace;
  }
  if (!cluster.operands.empty()) {
    return cluster.operands.front().ns;
  }
  return cluster.operators.empty() ? "" : cluster.operators.front().ns;
}

bool IsUnread(const ClusterFacts& cluster, std::string_view part) {
  return std::ranges::find(cluster.unread, part, &Unread::what) != cluster.unread.end();
}

bool BringsDriver(std::string_view daemon_set) {
  return std::ranges::any_of(
      kDriverSets, [daemon_set](std::string_view known) { return daemon_set.starts_with(known); });
}

std::string MessageOf(const Json& event) {
  constexpr std::string_view kCombined = "(combined from similar events): ";
  const std::string message = TextAt(event, "message");
  return message.starts_with(kCombined) ? message.substr(kCombined.size()) : message;
}

std::string LastSeen(const Json& event) {
  for (const char* path : {"series.lastObservedTime", "lastTimestamp", "eventTime"}) {
    if (std::string time = TextAt(event, path); !time.empty()) {
      return time;
    }
  }
  return TextAt(event, "metadata.creationTimestamp");
}

}  // namespace gantry::doctor
