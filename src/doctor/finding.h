// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>

namespace gantry::doctor {

enum class Severity { kProblem, kNote };  // a note is no reason for exit code 1

struct Finding {
  Severity severity = Severity::kProblem;
  std::string code;     // one word that stays the same: "TolerationMissing" (docs/doctor.md)
  std::string object;   // "pod default/x", "node n1"
  std::string message;  // what was seen
  std::string remedy;   // what to do
  std::set<std::string> nodes = {};  // of an operand: where; the object names the first of them
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

}  // namespace gantry::doctor
