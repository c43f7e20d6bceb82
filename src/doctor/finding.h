// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gantry::doctor {

enum class Severity { kProblem, kNote };  // a note is no reason for exit code 1

struct Finding {
  Severity severity = Severity::kProblem;
  std::string code;     // one word that stays the same: "TolerationMissing" (docs/doctor.md)
  std::string object;   // "pod default/x", "node n1"
  std::string message;  // what was seen
  std::string remedy;   // what to do
  // Where: of an operand (the object names the first of them), or of a cause; empty: everywhere.
  std::set<std::string> nodes = {};
  // The operand or operator whose pods do not run for this reason: "DaemonSet gpu-operator/x".
  // Nothing else is said of it there. Empty: none.
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

// Whether one of them says why the object's pods do not run, on that node if it is named.
inline bool IsExplained(const std::vector<Finding>& findings, const std::string& object,
                        const std::string& node = "") {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.explains == object &&
           (node.empty() || finding.nodes.empty() || finding.nodes.contains(node));
  });
}

}  // namespace gantry::doctor
