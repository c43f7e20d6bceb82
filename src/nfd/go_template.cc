// SPDX-License-Identifier: Apache-2.0
// What does a template expand to for one node? A missing field is an error, as NFD has it. Steps
// and output are bounded: three nested ranges over a thousand instances would otherwise not finish.
#include "nfd/go_template.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "nfd/go_template_functions.h"
#include "nfd/go_template_tree.h"
#include "nfd/go_template_value.h"

namespace gantry::nfd {
namespace {

constexpr int kSteps = 100'000;
// A long string or list costs more than one step: one per this many characters or elements.
constexpr size_t kLettersPerStep = 256;
constexpr size_t kElementsPerStep = 4;

// The steps that passing a value to a function, or getting it, costs.
int StepsOf(const Value& value) {
  if (const std::string* text = TextOf(value)) {
    return static_cast<int>(text->size() / kLettersPerStep);
  }
  const Value::List* list = ListOf(value);
  return list == nullptr ? 0 : static_cast<int>(list->size() / kElementsPerStep);
}

class Expansion {
 public:
  explicit Expansion(const Value& root) { variables_.push_back({"$", root}); }

  Status Run(const std::vector<Node>& nodes, const Value& dot) {
    const size_t scope = variables_.size();
    for (const Node& node : nodes) {
      TRY(Step(1));
      TRY(RunNode(node, dot));
      if (leaving_ != Node::Kind::kText) {
        break;
      }
    }
    variables_.resize(scope);
    return {};
  }
  std::string output;

 private:
  Status Step(int steps) {
    steps_ += steps;
    if (steps_ > kSteps || output.size() > kLongestText) {
      return CannotDo("the template comes to too much");
    }
    return {};
  }

  Status RunNode(const Node& node, const Value& dot) {
    if (node.kind == Node::Kind::kText) {
      output += node.text;
      return {};
    }
    if (node.kind == Node::Kind::kBreak || node.kind == Node::Kind::kContinue) {
      leaving_ = node.kind;
      return {};
    }
    const size_t scope = variables_.size();
    TRY_ASSIGN(const Value value, Evaluate(node.pipeline, dot));
    if (node.kind == Node::Kind::kAction) {
      if (node.pipeline.variables.empty()) {
        if (std::holds_alternative<std::monostate>(value.is)) {
          output += "<no value>";
        } else {
          PrintTo(value, output);
        }
        return {};
      }
      return Assign(node.pipeline, node.pipeline.variables[0], value);
    }
    if (node.kind == Node::Kind::kRange) {
      return Range(node, value, dot);
    }
    if (!node.pipeline.variables.empty()) {
      TRY(Assign(node.pipeline, node.pipeline.variables[0], value));
    }
    const bool with = node.kind == Node::Kind::kWith;
    TRY(IsTrue(value) ? Run(node.body, with ? value : dot) : Run(node.otherwise, dot));
    variables_.resize(std::max(scope, size_t{1}));
    return {};
  }

  Status Range(const Node& node, const Value& over, const Value& dot) {
    Value::List elements;
    Value::List keys;
    if (const Value::List* list = ListOf(over)) {
      elements = *list;
      for (size_t i = 0; i < list->size(); ++i) {
        keys.push_back(Of(static_cast<long long>(i)));
      }
    } else if (const Value::Map* map = MapOf(over)) {
      for (const auto& [key, element] : *map) {
        keys.push_back(Of(std::string(key)));
        elements.push_back(element);
      }
    } else if (const long long* count = NumberOf(over)) {
      if (node.pipeline.variables.size() == 2) {
        return CannotDo("range: a number has one variable");
      }
      if (*count > kSteps) {
        return CannotDo("the template comes to too much");
      }
      for (long long i = 0; i < *count; ++i) {
        keys.push_back(Of(i));
        elements.push_back(Of(i));
      }
    } else if (!std::holds_alternative<std::monostate>(over.is)) {
      return CannotDo("range: this has no elements");
    }
    if (elements.empty()) {
      return Run(node.otherwise, dot);
    }
    const size_t scope = variables_.size();
    const std::vector<std::string>& names = node.pipeline.variables;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (names.size() == 2) {
        TRY(Assign(node.pipeline, names[0], keys[i]));
      }
      if (!names.empty()) {
        TRY(Assign(node.pipeline, names.back(), elements[i]));
      }
      TRY(Run(node.body, elements[i]));
      TRY(Step(1));
      variables_.resize(scope);
      if (std::exchange(leaving_, Node::Kind::kText) == Node::Kind::kBreak) {
        break;
      }
    }
    return {};
  }

  Status Assign(const Pipeline& pipeline, const std::string& name, const Value& value) {
    if (pipeline.declares) {
      variables_.push_back({name, value});
      return {};
    }
    const auto known = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const auto& variable) { return variable.name == name; });
    if (known == variables_.rend()) {
      return CannotDo(format("unknown variable {}", name));
    }
    known->value = value;
    return {};
  }

  Result<Value> Evaluate(const Pipeline& pipeline, const Value& dot) {
    std::optional<Value> last;
    for (const Command& command : pipeline.commands) {
      TRY(Step(1));
      if (command.front().kind != Operand::Kind::kFunction) {
        if (last.has_value()) {
          return CannotDo("only functions can stand after |");
        }
        TRY_ASSIGN(last, Evaluate(command.front(), dot));
        continue;
      }
      // `and` and `or` stop as soon as the result is known, so `and .x (index .x 0)` is safe.
      const std::string& name = command.front().name;
      const bool until = name == "or";
      bool decided = false;
      Arguments arguments;
      for (size_t i = 1; i < command.size() && !decided; ++i) {
        TRY_ASSIGN(arguments.emplace_back(), Evaluate(command[i], dot));
        TRY(Step(StepsOf(arguments.back())));
        decided = (until || name == "and") && IsTrue(arguments.back()) == until;
      }
      if (last.has_value() && !decided) {
        arguments.push_back(*last);
      }
      TRY_ASSIGN(last, CallFunction(name, arguments));
    }
    return last.value_or(Value());  // the parser rejects a pipeline without commands
  }

  Result<Value> CallFunction(const std::string& name, const Arguments& arguments) {
    const Function* function = FindFunction(name);
    if (function == nullptr) {  // the parser rejects unknown functions
      return CannotDo(format("unknown function \"{}\"", name));
    }
    TRY_ASSIGN(Value value, Call(*function, arguments));
    TRY(Step(StepsOf(value)));
    if (const std::string* text = TextOf(value); text != nullptr && text->size() > kLongestText) {
      return CannotDo("the template comes to too much");
    }
    return value;
  }

  Result<Value> Evaluate(const Operand& operand, const Value& dot) {
    Value value = dot;
    switch (operand.kind) {
      case Operand::Kind::kDot:
        break;
      case Operand::Kind::kLiteral:
        value = operand.literal;
        break;
      case Operand::Kind::kVariable: {
        const auto known =
            std::find_if(variables_.rbegin(), variables_.rend(),
                         [&](const auto& variable) { return variable.name == operand.name; });
        if (known == variables_.rend()) {
          return CannotDo(format("unknown variable {}", operand.name));
        }
        value = known->value;
        break;
      }
      case Operand::Kind::kFunction: {
        TRY_ASSIGN(value, CallFunction(operand.name, {}));
        break;
      }
      case Operand::Kind::kPipeline: {
        TRY_ASSIGN(value, Evaluate(*operand.pipeline, dot));
        break;
      }
    }
    for (const std::string& field : operand.fields) {
      const Value::Map* map = MapOf(value);
      const auto found = map == nullptr ? Value::Map::const_iterator() : map->find(field);
      if (map == nullptr || found == map->end()) {
        return CannotDo(format("there is no .{}", field));
      }
      value = Value(found->second);
    }
    return value;
  }

  struct Variable {
    std::string name;
    Value value;
  };
  std::vector<Variable> variables_;
  int steps_ = 0;
  Node::Kind leaving_ = Node::Kind::kText;  // kBreak, kContinue: while leaving the body
};

}  // namespace

Result<Template> Template::Parse(std::string_view text) {
  TRY_ASSIGN(Tree tree, ParseTree(text));
  return Template(std::make_shared<const Tree>(std::move(tree)));
}

Result<std::string> Template::Expand(const Value& dot) const {
  Expansion expansion(dot);
  TRY(expansion.Run(tree_->nodes, dot));
  if (expansion.output.size() > kLongestText) {
    return CannotDo("the template comes to too much");
  }
  return std::move(expansion.output);
}

}  // namespace gantry::nfd
