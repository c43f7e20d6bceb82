// SPDX-License-Identifier: Apache-2.0
// How does a Node show that its GPUs are healthy? By a condition, which schedulers, repair
// controllers and `kubectl describe node` read. It is written if it differs, and never as a
// heartbeat.
#include "agent/node_condition.h"

#include "base/text.h"
#include "kube/kind.h"
#include "kube/object.h"
#include "policy/names.h"

namespace gantry::agent {
namespace {

// Naming all 56 MIG devices of a node would not help a user.
constexpr size_t kNamed = 8;

const Json* Present(const Json& node) {
  const Json* conditions = At(node, "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) {
    return nullptr;
  }
  for (const auto& condition : *conditions) {
    if (TextAt(condition, "type") == names::kGpuHealthyCondition) {
      return &condition;
    }
  }
  return nullptr;
}

}  // namespace

NodeCondition ConditionOf(const std::map<std::string, std::string>& out_of_service) {
  if (out_of_service.empty()) {
    return {.healthy = true, .message = "every GPU is in service"};
  }
  std::vector<std::string> sentences;
  for (const auto& [uuid, reason] : out_of_service) {
    if (sentences.size() == kNamed) {
      sentences.push_back(format("and {} more", out_of_service.size() - kNamed));
      break;
    }
    sentences.push_back(format("{}: {}", uuid, reason));
  }
  return {.healthy = false, .message = "out of service: " + Join(sentences, "; ")};
}

std::optional<Json> ConditionToApply(const Json& node, const NodeCondition& condition,
                                     std::string_view now) {
  const std::string status = condition.healthy ? "True" : "False";
  std::string since(now);
  if (const auto* present = Present(node)) {
    const bool same_status = TextAt(*present, "status") == status;
    if (same_status && TextAt(*present, "message") == condition.message) {
      return std::nullopt;
    }
    since = same_status ? TextAt(*present, "lastTransitionTime") : since;
  }
  Json object =
      kube::NewObject(kube::kinds::kNode, {.ns = "", .name = TextAt(node, "metadata.name")});
  object["status"]["conditions"] =
      Json::array({{{"type", names::kGpuHealthyCondition},
                    {"status", status},
                    {"reason", condition.healthy ? "GPUsInService" : "GPUOutOfService"},
                    {"message", condition.message},
                    {"lastTransitionTime", since},
                    {"lastHeartbeatTime", std::string(now)}}});
  return object;
}

}  // namespace gantry::agent
