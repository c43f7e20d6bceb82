// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "nfd/features.h"
#include "nfd/rule.h"

namespace gantry::nfd {

// What matched, for templates: domain -> feature -> elements. An element is the attributes of an
// instance, {"Name"} of a flag, or {"Name", "Value"} of an attribute.
using Matched = std::map<std::string, std::map<std::string, std::vector<Elements>>>;

struct Match {
  bool holds = false;
  Matched matched;
};

// Whether all terms match the features. kInvalid: a value to compare is not a number.
Result<Match> MatchTerms(const Terms& terms, const Features& features);

// Compares "1.10.2" and "v1.9" part by part; a missing part counts as 0. kInvalid if one does not
// begin with a number.
Result<int> CompareVersions(std::string_view left, std::string_view right);

}  // namespace gantry::nfd
