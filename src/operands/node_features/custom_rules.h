// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "operands/node_features/local_features.h"
#include "policy/node_feature_rule/rule.h"

namespace gantry::node_features {

// The rules of sources.custom; null: none. kInvalid, as with NFD's worker, if one has a mistake.
Result<std::vector<node_feature_rule::Rule>> ParseCustomRules(const Json& rules);

struct CustomRules {
  std::vector<node_feature_rule::Rule> rules;
  std::vector<std::string> warnings;
};

// The rules of the files of NFD's custom.d, in the files' order. Each is a list (YAML or JSON) as
// the configuration has it in sources.custom. A file with a mistake is left out as a whole, and
// named.
CustomRules ReadCustomFiles(const std::vector<LocalFile>& files);

}  // namespace gantry::node_features
