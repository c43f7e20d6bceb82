// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/finding.h"

namespace gantry::doctor {

// The remedy for an object that the API server rejects, by its message; empty: an unknown message.
std::string RemedyByWords(std::string_view words);

// The remedy for fields without effect: sections of operands need an image.
std::string RemedyForFields(const std::vector<std::string>& fields);

// The remedy if no other finding says more. `ns` is the operator's namespace; empty: unknown.
std::string RemedyByPods(std::string_view ns);

// Joins the findings of several operands that have one cause (Finding::cause).
void JoinCauses(std::vector<Finding>& findings);

}  // namespace gantry::doctor
