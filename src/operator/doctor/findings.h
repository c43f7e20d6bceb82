// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "operator/doctor/facts.h"

// What is wrong with the GPUs of a cluster and with those who want them, in one line each.
namespace gantry::doctor {

enum class Severity { kProblem, kNote };  // a note is no reason for exit code 1

struct Finding {
  Severity severity = Severity::kProblem;
  std::string code;     // one word: "TolerationMissing"
  std::string object;   // "pod default/x", "node n1"
  std::string message;  // what was seen
  std::string remedy;   // what to do
  bool operator==(const Finding&) const = default;
};

// The cluster's own findings first, then those of nodes, then those of workloads; pods of one owner
// with the same finding are one.
std::vector<Finding> Examine(const ClusterFacts& cluster);

// "CODE  object: message; remedy"
std::string LineOf(const Finding& finding);
Json JsonOf(const std::vector<Finding>& findings);

}  // namespace gantry::doctor
