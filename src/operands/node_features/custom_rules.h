// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "nfd/rule.h"
#include "operands/node_features/local_features.h"

namespace gantry::node_features {

struct CustomRules {
  std::vector<nfd::Rule> rules;
  std::vector<std::string> warnings;
};

// The rules of sources.custom. kInvalid, as with NFD's worker, if one has a mistake. A rule with an
// unknown key, which NFD's worker ignores, is left out, and named: without that key it may have
// fewer conditions than its author meant.
Result<CustomRules> ParseCustomRules(const Json& rules);

// The rules of the files of NFD's custom.d, in the files' order. Each is a list (YAML or JSON) as
// in the configuration's sources.custom. A file with a mistake is left out entirely, and named.
CustomRules ReadCustomFiles(const std::vector<LocalFile>& files);

}  // namespace gantry::node_features
