// SPDX-License-Identifier: Apache-2.0
// Which rules are there beside the configuration? A node's own files, or those of a mounted
// ConfigMap.
#include "operands/node_features/custom_rules.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "policy/yaml.h"

namespace gantry::node_features {
namespace {

Result<std::vector<nfd::Rule>> ParseFile(const std::string& text) {
  TRY_ASSIGN(const Json rules, policy::ParseYaml(text));
  if (rules.is_null()) {
    return {};
  }
  nfd::ParsedRules parsed = nfd::ParseRules(rules);
  if (!parsed.mistakes.empty()) {
    return std::unexpected(std::move(parsed.mistakes.front().error));
  }
  return std::move(parsed.rules);
}

}  // namespace

Result<CustomRules> ParseCustomRules(const Json& rules) {
  nfd::ParsedRules parsed = nfd::ParseRules(rules);
  CustomRules custom{std::move(parsed.rules), {}};
  for (auto& [rule, error] : parsed.mistakes) {
    if (error.kind != ErrorKind::kUnsupported) {
      return std::unexpected(std::move(error));
    }
    custom.warnings.push_back(format("{}; the rule is left out", error.message));
  }
  return custom;
}

CustomRules ReadCustomFiles(const std::vector<LocalFile>& files) {
  CustomRules custom;
  for (const LocalFile& file : files) {
    auto rules = ParseFile(file.text);
    if (rules.has_value()) {
      std::ranges::move(*rules, std::back_inserter(custom.rules));
    } else {
      custom.warnings.push_back(
          format("custom.d/{} is left out: {}", file.name, rules.error().message));
    }
  }
  return custom;
}

}  // namespace gantry::node_features
