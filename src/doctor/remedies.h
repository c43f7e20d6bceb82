// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/finding.h"

namespace gantry::doctor {

// What to do about an object that the API server refuses, from its words; empty: they are not
// known.
std::string RemedyByWords(std::string_view words);

// What to do about fields that are not acted on: sections of operands need an image.
std::string RemedyForFields(const std::vector<std::string>& fields);

// Where no other finding says more. `ns` is the operator's namespace; empty: it is not known.
std::string RemedyByPods(std::string_view ns);

// Makes one finding of those of several operands that have one cause (Finding::cause).
void JoinCauses(std::vector<Finding>& findings);

}  // namespace gantry::doctor
