// SPDX-License-Identifier: Apache-2.0
// Which fields of a cluster's objects explain why a GPU is not used? Pure: JSON in, structs out.
#include "operator/doctor/facts.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::doctor {
namespace {

// NVIDIA's resources are whole numbers; a quantity may still be a string ("8") or have a suffix.
long long Whole(const Json& quantity) {
  if (quantity.is_number_integer()) {
    return quantity.get<long long>();
  }
  if (!quantity.is_string()) {
    return 0;
  }
  const std::string text = quantity.get<std::string>();
  if (text.ends_with("k")) {
    return ParseInt(text.substr(0, text.size() - 1)).value_or(0) * 1000;
  }
  return ParseInt(text).value_or(0);
}

GpuCounts GpusIn(const Json* resources) {
  GpuCounts counts;
  if (resources != nullptr && resources->is_object()) {
    for (const auto& [name, quantity] : resources->items()) {
      if (name.starts_with("nvidia.com/")) {
        counts[name] = Whole(quantity);
      }
    }
  }
  return counts;
}

Labels TextMap(const Json* object) {
  Labels labels;
  if (object != nullptr && object->is_object()) {
    for (const auto& [key, value] : object->items()) {
      if (value.is_string()) {
        labels[key] = value.get<std::string>();
      }
    }
  }
  return labels;
}

const Json& ListAt(const Json& object, std::string_view path) {
  static const Json kEmpty = Json::array();
  const Json* list = At(object, path);
  return list != nullptr && list->is_array() ? *list : kEmpty;
}

// What a container asks for: requests, and limits where they stand alone.
GpuCounts ContainerWants(const Json& container) {
  GpuCounts wants = GpusIn(At(container, "resources.requests"));
  for (const auto& [name, count] : GpusIn(At(container, "resources.limits"))) {
    wants.emplace(name, count);
  }
  return wants;
}

// As the scheduler counts: all containers together, or one init container that wants more.
GpuCounts PodWants(const Json& pod) {
  GpuCounts wants;
  for (const Json& container : ListAt(pod, "spec.containers")) {
    for (const auto& [name, count] : ContainerWants(container)) {
      wants[name] += count;
    }
  }
  for (const Json& container : ListAt(pod, "spec.initContainers")) {
    for (const auto& [name, count] : ContainerWants(container)) {
      wants[name] = std::max(wants[name], count);
    }
  }
  std::erase_if(wants, [](const auto& each) { return each.second == 0; });
  return wants;
}

std::vector<Requirement> Requirements(const Json& term) {
  std::vector<Requirement> requirements;
  for (const Json& each : ListAt(term, "matchExpressions")) {
    Requirement requirement = {
        .key = TextAt(each, "key"), .op = TextAt(each, "operator"), .values = {}};
    for (const Json& value : ListAt(each, "values")) {
      if (value.is_string()) {
        requirement.values.push_back(value.get<std::string>());
      }
    }
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

std::vector<Condition> ConditionsOf(const Json& object) {
  std::vector<Condition> conditions;
  for (const Json& each : ListAt(object, "status.conditions")) {
    conditions.push_back({.type = TextAt(each, "type"),
                          .holds = TextAt(each, "status") == "True",
                          .reason = TextAt(each, "reason"),
                          .message = TextAt(each, "message")});
  }
  return conditions;
}

}  // namespace

NodeFacts NodeFrom(const Json& node) {
  NodeFacts facts;
  facts.name = TextAt(node, "metadata.name");
  facts.labels = TextMap(At(node, "metadata.labels"));
  facts.capacity = GpusIn(At(node, "status.capacity"));
  facts.allocatable = GpusIn(At(node, "status.allocatable"));
  for (const Json& taint : ListAt(node, "spec.taints")) {
    facts.taints.push_back({.key = TextAt(taint, "key"),
                            .value = TextAt(taint, "value"),
                            .effect = TextAt(taint, "effect")});
  }
  const std::vector<Condition> conditions = ConditionsOf(node);
  facts.ready = std::ranges::any_of(conditions, [](const Condition& condition) {
    return condition.type == "Ready" && condition.holds;
  });
  return facts;
}

PodFacts PodFrom(const Json& pod) {
  PodFacts facts;
  facts.space = TextAt(pod, "metadata.namespace");
  facts.name = TextAt(pod, "metadata.name");
  for (const Json& owner : ListAt(pod, "metadata.ownerReferences")) {
    if (BoolAt(owner, "controller", false)) {
      facts.owner = TextAt(owner, "kind") + " " + TextAt(owner, "name");
    }
  }
  facts.wants = PodWants(pod);
  for (const Json& each : ListAt(pod, "spec.tolerations")) {
    facts.tolerations.push_back({.key = TextAt(each, "key"),
                                 .exists = TextAt(each, "operator") == "Exists",
                                 .value = TextAt(each, "value"),
                                 .effect = TextAt(each, "effect")});
  }
  facts.node_selector = TextMap(At(pod, "spec.nodeSelector"));
  for (const Json& term :
       ListAt(pod,
              "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
              "nodeSelectorTerms")) {
    facts.node_terms.push_back(Requirements(term));
  }
  for (const Condition& condition : ConditionsOf(pod)) {
    if (condition.type == "PodScheduled" && !condition.holds) {
      facts.scheduler = condition.message;
    }
  }
  return facts;
}

OperandFacts OperandFrom(const Json& daemon_set) {
  return {.name = TextAt(daemon_set, "metadata.name"),
          .desired = IntAt(daemon_set, "status.desiredNumberScheduled", 0),
          .ready = IntAt(daemon_set, "status.numberReady", 0),
          .updated = IntAt(daemon_set, "status.updatedNumberScheduled", 0)};
}

PolicyFacts PolicyFrom(const Json& policy) {
  PolicyFacts facts;
  facts.name = TextAt(policy, "metadata.name");
  facts.state = TextAt(policy, "status.state");
  facts.conditions = ConditionsOf(policy);
  for (const Json& field : ListAt(policy, "status.unsupportedFields")) {
    if (field.is_string()) {
      facts.unsupported_fields.push_back(field.get<std::string>());
    }
  }
  return facts;
}

bool LacksPods(const Json& controller) {
  const std::string kind = TextAt(controller, "kind");
  if (kind == "ReplicaSet" || kind == "StatefulSet" || kind == "ReplicationController") {
    return IntAt(controller, "status.replicas", 0) < IntAt(controller, "spec.replicas", 1);
  }
  if (kind == "DaemonSet") {
    return IntAt(controller, "status.currentNumberScheduled", 0) <
           IntAt(controller, "status.desiredNumberScheduled", 0);
  }
  if (kind == "Job") {
    return IntAt(controller, "status.active", 0) + IntAt(controller, "status.succeeded", 0) <
           std::min(
               IntAt(controller, "spec.parallelism", 1),
               IntAt(controller, "spec.completions", IntAt(controller, "spec.parallelism", 1)));
  }
  return true;
}

}  // namespace gantry::doctor
