// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nfd/evaluate.h"

namespace gantry::gpu_operator {

// Which rules of NodeFeatureRules fail on which nodes, and which failures are new. A rule that
// fails on a thousand nodes is reported once, for the first of them. It is reported again when all
// nodes have lost the reported reason and another one exists, or when its object was edited. Not
// thread-safe.
class RuleFailures {
 public:
  struct News {
    std::string object;   // the NodeFeatureRule's name
    std::string uid;      // empty: not known
    std::string message;  // names the rule, a node if one is concerned, and the reason
    // The messages of all failing rules of the object, for one event: an object has one event per
    // reason.
    std::string all;
  };
  // The node's rules that fail now; an empty name: rules that can't be read on any node.
  std::vector<News> Observe(const std::string& node, const std::vector<nfd::RuleMistake>& mistakes);

 private:
  struct Failing {
    long long generation = 0;
    std::map<std::string, std::string> reasons;  // by node
    std::string told;                            // the reason
    std::string message;                         // as reported
  };
  std::map<std::pair<std::string, std::string>, Failing> rules_;  // by object and rule
};

}  // namespace gantry::gpu_operator
