// SPDX-License-Identifier: Apache-2.0
// Which failures of rules have not been reported yet?
#include "operator/rule_failures.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::gpu_operator {
namespace {

using nfd::RuleMistake;

std::string MessageOf(const std::string& node, const RuleMistake& mistake) {
  return node.empty() ? format("rule {} is left out: {}", mistake.rule, mistake.reason)
                      : format("rule {} fails on node {}: {}", mistake.rule, node, mistake.reason);
}

}  // namespace

std::vector<RuleFailures::News> RuleFailures::Observe(const std::string& node,
                                                      const std::vector<RuleMistake>& mistakes) {
  for (auto& [rule, failing] : rules_) {
    failing.reasons.erase(node);
  }
  std::vector<News> news;
  for (const RuleMistake& mistake : mistakes) {
    Failing& failing = rules_[{mistake.object, mistake.rule}];
    failing.reasons[node] = mistake.reason;
    const bool known = failing.generation == mistake.generation &&
                       std::ranges::any_of(failing.reasons, [&failing](const auto& reason) {
                         return reason.second == failing.told;
                       });
    if (!known) {
      failing.generation = mistake.generation;
      failing.told = mistake.reason;
      failing.message = MessageOf(node, mistake);
      news.push_back({mistake.object, mistake.uid, failing.message, ""});
    }
  }
  std::erase_if(rules_, [](const auto& rule) { return rule.second.reasons.empty(); });
  for (News& one : news) {
    for (auto rule = rules_.lower_bound({one.object, ""});
         rule != rules_.end() && rule->first.first == one.object; ++rule) {
      one.all += format("{}{}", one.all.empty() ? "" : "; ", rule->second.message);
    }
  }
  return news;
}

}  // namespace gantry::gpu_operator
