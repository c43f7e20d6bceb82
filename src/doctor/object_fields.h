// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

inline constexpr char kDaemonSet[] = "DaemonSet";

// The strings of a map (labels, data); empty for nullptr.
Labels TextMap(const Json* object);
// The conditions of its status.
std::vector<Condition> ConditionsOf(const Json& object);
// The nodes that the pod spec at that path selects.
NodeChoice ChoiceOf(const Json& object, const char* pod_spec);
// "Deployment default/x"
std::string ObjectName(const Json& object);
// The value of the variable in a section of the policy, or in a container; empty: not set, or not
// by value.
std::string EnvOf(const Json& section, std::string_view name);
// Whether the operator made it.
bool IsOurs(const Json& object);

// The reference in `object` to its controller; nullptr: none.
const Json* ControllerOf(const Json& object);
// The same as "ReplicaSet default/x"; empty: none.
std::string OwnerOf(const Json& object);

}  // namespace gantry::doctor
