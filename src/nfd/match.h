// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "nfd/features.h"
#include "nfd/rule.h"

namespace gantry::nfd {

// What matched, for templates: domain -> feature -> elements. An element is an instance's
// attributes, or {"Name"} of a flag, or {"Name", "Value"} of an attribute.
using Matched = std::map<std::string, std::map<std::string, std::vector<Elements>>>;

struct Match {
  bool holds = false;
  Matched matched;
};

// Whether all terms hold of the features. kInvalid: a value that should be compared is no number.
Result<Match> MatchTerms(const Terms& terms, const Features& features);

// Compares "1.10.2" and "v1.9" part by part; what is missing counts as 0. kInvalid for what does
// not begin with a number.
Result<int> CompareVersions(std::string_view left, std::string_view right);

}  // namespace gantry::nfd
