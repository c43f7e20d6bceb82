// SPDX-License-Identifier: Apache-2.0

// What does the status of a policy, or of a NVIDIADriver, say? NVIDIA's pair of conditions and
// Gantry's own, from a verdict and the present status.

#include "operator/policy_status.h"

#include "base/text.h"
#include "operator/some_names.h"
#include "policy/reasons.h"

namespace gantry::gpu_operator {
namespace {

Json Condition(std::string_view type, bool is, std::string_view reason, std::string_view message,
               const StatusEdit& edit) {
  const std::string status = is ? "True" : "False";
  Json condition = {{"type", type},
                    {"status", status},
                    {"reason", reason},
                    {"message", message},
                    {"observedGeneration", edit.generation},
                    {"lastTransitionTime", Rfc3339(edit.now)}};
  if (const Json* old = At(edit.before, "conditions"); old != nullptr && old->is_array()) {
    for (const Json& other : *old) {
      if (TextAt(other, "type") == type && TextAt(other, "status") == status) {
        condition["lastTransitionTime"] = TextAt(other, "lastTransitionTime");
      }
    }
  }
  return condition;
}

// NVIDIA's pair: one of the two has the reason and the message.
Json ReadyAndError(bool ready, std::string_view reason, std::string_view message,
                   const StatusEdit& edit) {
  return Json::array(
      {Condition("Ready", ready, ready ? reason : "Error", ready ? message : "", edit),
       Condition("Error", !ready, ready ? "Ready" : reason, ready ? "" : message, edit)});
}

// `where` names the field that tolerates taints.
Json NodesReachable(const std::vector<std::string>& untolerated, std::string_view where,
                    const StatusEdit& edit) {
  const bool all = untolerated.empty();
  return Condition("NodesReachable", all, all ? "Tolerated" : reasons::kTaintNotTolerated,
                   all ? "" : format("{}{}", where, SomeNames(untolerated)), edit);
}

Json SpecFollowed(std::string_view partly, const StatusEdit& edit) {
  return Condition("SpecFollowed", partly.empty(), partly.empty() ? "Complete" : "Partly", partly,
                   edit);
}

// A status from which list entries have lost a key.
Json Without(Json status, const char* list, const char* key) {
  if (const auto entries = status.find(list);
      status.is_object() && entries != status.end() && entries->is_array()) {
    for (Json& entry : *entries) {
      entry.erase(key);
    }
  }
  return status;
}

Json WithoutTimes(Json status) {
  return Without(std::move(status), "conditions", "lastTransitionTime");
}

Json WithoutMessages(Json status) {
  if (status.is_object()) {
    status.erase("driverUpgrades");
  }
  return Without(Without(std::move(status), "conditions", "message"), "operands", "message");
}

}  // namespace

Json StatusOf(const Verdict& verdict, const VerdictInput& input, const StatusEdit& edit) {
  Json status = {{"state", verdict.state}, {"namespace", input.ns}};
  Json& conditions = status["conditions"];
  conditions = ReadyAndError(verdict.state == "ready", verdict.reason, verdict.message, edit);
  std::string partly = verdict.partly;
  if (!input.overridden_fields.empty()) {
    partly += format("{}fields that a GPUClusterPolicy says otherwise: {}",
                     partly.empty() ? "" : "; ", Join(input.overridden_fields, ", "));
  }
  conditions.push_back(SpecFollowed(partly, edit));
  conditions.push_back(NodesReachable(
      input.cluster->untolerated,
      "no operand runs on these GPU nodes, add their taints to daemonsets.tolerations: ", edit));
  const bool current = input.outdated_definitions.empty();
  conditions.push_back(Condition("DefinitionsCurrent", current,
                                 current ? "Current" : reasons::kDefinitionOutdated,
                                 Join(input.outdated_definitions, "; "), edit));
  status["operands"] = Json::array();
  for (const OperandState& state : verdict.operands) {
    if (state.state == "disabled") {
      continue;
    }
    Json entry = {{"name", state.name}, {"state", state.state}};
    for (const auto& [key, value] :
         {std::pair("reason", &state.reason), std::pair("message", &state.message),
          std::pair("image", &state.image)}) {
      if (!value->empty()) {
        entry[key] = *value;
      }
    }
    status["operands"].push_back(std::move(entry));
  }
  if (!input.driver_upgrades.is_null()) {
    status["driverUpgrades"] = input.driver_upgrades;
  }
  for (const auto& [key, list] : {std::pair("unsupportedFields", &input.unsupported_fields),
                                  std::pair("valuesNotKnown", &input.values_not_known),
                                  std::pair("valuesNotFollowed", &input.values_not_followed)}) {
    if (!list->empty()) {
      status[key] = *list;
    }
  }
  return status;
}

Json IgnoredStatus(std::string_view oldest, const StatusEdit& edit) {
  return {
      {"state", "ignored"},
      {"conditions", ReadyAndError(false, "Ignored",
                                   format("{} is older and the one that counts", oldest), edit)}};
}

Json ShortFormStatus(const Json& reconciled, std::string_view partly, const StatusEdit& edit) {
  Json status = {{"state", reconciled["state"]},
                 {"namespace", reconciled["namespace"]},
                 {"conditions", Json::array()}};
  for (const Json& condition : reconciled["conditions"]) {
    if (const std::string type = TextAt(condition, "type"); type != "SpecFollowed") {
      status["conditions"].push_back(Condition(type, TextAt(condition, "status") == "True",
                                               TextAt(condition, "reason"),
                                               TextAt(condition, "message"), edit));
    }
  }
  status["conditions"].push_back(SpecFollowed(partly, edit));
  return status;
}

Json BriefStatus(const Verdict& verdict, std::string_view ns, const StatusEdit& edit) {
  Json conditions = ReadyAndError(verdict.state == "ready", verdict.reason, verdict.message, edit);
  conditions.push_back(SpecFollowed(verdict.partly, edit));
  if (!verdict.untolerated.empty()) {
    conditions.push_back(NodesReachable(verdict.untolerated, "", edit));
  }
  return {{"state", verdict.state}, {"namespace", ns}, {"conditions", std::move(conditions)}};
}

bool SameStatus(const Json& left, const Json& right) {
  return WithoutTimes(left) == WithoutTimes(right);
}

bool SameButMessages(const Json& left, const Json& right) {
  return WithoutMessages(WithoutTimes(left)) == WithoutMessages(WithoutTimes(right));
}

Json StatusPatch(const Json& before, const Json& after) {
  Json patch = after;
  if (!before.is_object() || !after.is_object()) {
    return patch;
  }
  for (const auto& [key, value] : before.items()) {
    patch[key] = after.contains(key) ? StatusPatch(value, after[key]) : Json();
  }
  return patch;
}

}  // namespace gantry::gpu_operator
