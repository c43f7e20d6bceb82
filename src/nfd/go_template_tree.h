// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "nfd/go_template.h"

namespace gantry::nfd {

struct Pipeline;

// One word of a command, with the fields taken of it: `.a.b`, `$x.Name`, `"text"`, `len`, `(...)`.
struct Operand {
  enum class Kind { kDot, kVariable, kLiteral, kFunction, kPipeline } kind = Kind::kDot;
  std::string name;  // of a variable ("$x"; "$" is the whole input) or a function
  Value literal;
  std::shared_ptr<const Pipeline> pipeline;
  std::vector<std::string> fields;
};

using Command = std::vector<Operand>;

struct Pipeline {
  std::vector<std::string> variables;  // assigned the value; of range: index and element
  bool declares = false;               // `:=`; else `=`
  std::vector<Command> commands;
};

struct Node {
  enum class Kind { kText, kAction, kIf, kRange, kWith, kBreak, kContinue } kind = Kind::kText;
  std::string text;
  Pipeline pipeline;
  std::vector<Node> body;
  std::vector<Node> otherwise;
};

struct Tree {
  std::vector<Node> nodes;
};

// kInvalid as Template::Parse.
Result<Tree> ParseTree(std::string_view text);

}  // namespace gantry::nfd
