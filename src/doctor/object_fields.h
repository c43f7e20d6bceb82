// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

inline constexpr char kDaemonSet[] = "DaemonSet";

// What is a string in a map (labels, data); nullptr: nothing.
Labels TextMap(const Json* object);
// Those of its status.
std::vector<Condition> ConditionsOf(const Json& object);
// The nodes that the pod spec at that path selects.
NodeChoice ChoiceOf(const Json& object, const char* pod_spec);
// "Deployment default/x"
std::string ObjectName(const Json& object);
// What a section of the policy, or a container, gives the variable; empty: it is not set, or not by
// value.
std::string EnvOf(const Json& section, std::string_view name);
// Whether the operator made it.
bool IsOurs(const Json& object);

// The owner reference of what made an object and keeps it, a part of `object`; nullptr: nothing.
const Json* ControllerOf(const Json& object);
// The same as "ReplicaSet default/x"; empty: nothing.
std::string OwnerOf(const Json& object);

}  // namespace gantry::doctor
