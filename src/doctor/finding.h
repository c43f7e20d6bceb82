// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gantry::doctor {

enum class Severity { kProblem, kNote };  // a note does not cause exit code 1

struct Finding {
  Severity severity = Severity::kProblem;
  std::string code;     // one stable word: "TolerationMissing" (docs/doctor.md)
  std::string object;   // "pod default/x", "node n1"
  std::string message;  // what was seen
  std::string remedy;   // what to do
  // The nodes of an operand's finding (the object names the first) or of a cause; empty: all.
  std::set<std::string> nodes = {};
  // The operand or operator whose pods do not run for this reason: "DaemonSet gpu-operator/x". It
  // gets no other finding there. Empty: none.
  std::string explains = {};
  std::string cause = {};  // a registry, a folder: what findings of one code may have in common
  bool operator==(const Finding&) const = default;
};

inline Finding Problem(std::string code, std::string object, std::string message,
                       std::string remedy) {
  return {.severity = Severity::kProblem,
          .code = std::move(code),
          .object = std::move(object),
          .message = std::move(message),
          .remedy = std::move(remedy)};
}

inline Finding Note(std::string code, std::string object, std::string message, std::string remedy) {
  Finding note = Problem(std::move(code), std::move(object), std::move(message), std::move(remedy));
  note.severity = Severity::kNote;
  return note;
}

// Whether one of them explains why the object's pods do not run, on that node if given.
inline bool IsExplained(const std::vector<Finding>& findings, const std::string& object,
                        const std::string& node = "") {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.explains == object &&
           (node.empty() || finding.nodes.empty() || finding.nodes.contains(node));
  });
}

}  // namespace gantry::doctor
