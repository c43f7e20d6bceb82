// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nfd/evaluate.h"

namespace gantry::gpu_operator {

// Which rules of NodeFeatureRules fail on which nodes, and what of it is news. A rule that fails on
// a thousand nodes is told once, for the first of them; again when the reason that was told is
// gone from all nodes and another one is there, or when its object has been edited. Not
// thread-safe.
class RuleFailures {
 public:
  struct News {
    std::string object;   // the NodeFeatureRule's name
    std::string uid;      // empty: not known
    std::string message;  // names the rule, a node if one is concerned, and the reason
    // The messages of all rules of the object that fail: one event has room for them all, as an
    // object has one event of a reason.
    std::string all;
  };
  // The node's rules that fail now; an empty name: rules that can't be read, whatever the node.
  std::vector<News> Observe(const std::string& node, const std::vector<nfd::RuleMistake>& mistakes);

 private:
  struct Failing {
    long long generation = 0;
    std::map<std::string, std::string> reasons;  // by node
    std::string told;                            // the reason
    std::string message;                         // as it was told
  };
  std::map<std::pair<std::string, std::string>, Failing> rules_;  // by object and rule
};

}  // namespace gantry::gpu_operator
