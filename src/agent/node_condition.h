// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace gantry::agent {

// The content of the Node's condition names::kGpuHealthyCondition.
struct NodeCondition {
  bool healthy = true;
  std::string message;
  bool operator==(const NodeCondition&) const = default;
};

// `out_of_service`: UUID of a GPU or MIG device -> reason.
NodeCondition ConditionOf(const std::map<std::string, std::string>& out_of_service);

// The Node for a server-side apply of the condition; nothing if it already has it. `now` as RFC
// 3339. lastTransitionTime is kept while the status stays.
std::optional<Json> ConditionToApply(const Json& node, const NodeCondition& condition,
                                     std::string_view now);

}  // namespace gantry::agent
