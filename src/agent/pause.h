// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

// The operands' deploy labels on a Node (nvidia.com/gpu.deploy.*), while a program needs its GPUs
// free. All of it pure.
namespace gantry::agent {

using Labels = std::map<std::string, std::string>;

// The labels of a Node as read from the API; one that is not a string is "".
Labels LabelsOf(const Json& node);

// "true" -> the mark (names::kDeployPaused); another value is kept in front of the mark; "false",
// "" and a value with the mark do not change.
std::string PausedValue(std::string_view value, std::string_view mark);
// The reverse.
std::string ResumedValue(std::string_view value, std::string_view mark);

// The labels that change when the operands that use the driver are paused or resumed: the node's
// labels among NVIDIA's pausable ones, and `own_label` (empty: none).
Labels PausedLabels(const Labels& node, std::string_view own_label, std::string_view mark);
Labels ResumedLabels(const Labels& node, std::string_view own_label, std::string_view mark);

}  // namespace gantry::agent
