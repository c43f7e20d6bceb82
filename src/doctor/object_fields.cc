// SPDX-License-Identifier: Apache-2.0
// Which fields do many kinds of Kubernetes objects share?
#include "doctor/object_fields.h"

#include <algorithm>

#include "kube/object.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

std::vector<Requirement> Requirements(const Json& term) {
  std::vector<Requirement> requirements;
  for (const char* list : {"matchExpressions", "matchFields"}) {
    for (const Json& each : ListAt(term, list)) {
      requirements.push_back({.key = TextAt(each, "key"),
                              .op = TextAt(each, "operator"),
                              .values = TextsAt(each, "values"),
                              .of_name = list == std::string_view("matchFields")});
    }
  }
  return requirements;
}

}  // namespace

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

std::vector<Condition> ConditionsOf(const Json& object) {
  std::vector<Condition> conditions;
  for (const Json& each : ListAt(object, "status.conditions")) {
    conditions.push_back({.type = TextAt(each, "type"),
                          .holds = TextAt(each, "status") == "True",
                          .reason = TextAt(each, "reason"),
                          .message = TextAt(each, "message"),
                          .since = TextAt(each, "lastTransitionTime")});
  }
  return conditions;
}

NodeChoice ChoiceOf(const Json& object, const char* pod_spec) {
  NodeChoice choice;
  const Json* spec = At(object, pod_spec);
  if (spec == nullptr) {
    return choice;
  }
  choice.labels = TextMap(At(*spec, "nodeSelector"));
  for (const Json& term :
       ListAt(*spec,
              "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
              "nodeSelectorTerms")) {
    choice.terms.push_back(Requirements(term));
  }
  return choice;
}

std::string ObjectName(const Json& object) {
  return TextAt(object, "kind") + " " + kube::KeyOf(object).Text();
}

std::string EnvOf(const Json& section, std::string_view name) {
  for (const Json& variable : ListAt(section, "env")) {
    if (TextAt(variable, "name") == name) {
      return TextAt(variable, "value");
    }
  }
  return "";
}

bool IsOurs(const Json& object) {
  const std::string* manager = kube::LabelOf(object, names::kManagedBy);
  return manager != nullptr && *manager == names::kManagedByGantry;
}

const Json* ControllerOf(const Json& object) {
  const Json& owners = ListAt(object, "metadata.ownerReferences");
  const auto found = std::ranges::find_if(
      owners, [](const Json& owner) { return BoolAt(owner, "controller", false); });
  return found == owners.end() ? nullptr : &*found;
}

std::string OwnerOf(const Json& object) {
  const Json* owner = ControllerOf(object);
  if (owner == nullptr) {
    return "";
  }
  const kube::Key key{TextAt(object, "metadata.namespace"), TextAt(*owner, "name")};
  return TextAt(*owner, "kind") + " " + key.Text();
}

}  // namespace gantry::doctor
