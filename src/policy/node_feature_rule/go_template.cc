// SPDX-License-Identifier: Apache-2.0
// What does a template come to for one node? Go's rules of truth, comparison and printing, for the
// few types that there are. A missing field is an error, as NFD has it. Steps and output are
// bounded: three ranges in one another over a thousand instances would otherwise never end.
#include "policy/node_feature_rule/go_template.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "policy/node_feature_rule/go_template_tree.h"

namespace gantry::node_feature_rule {
namespace {

constexpr size_t kLongest = 64UL * 1024;
constexpr int kSteps = 100'000;

std::unexpected<Error> Wrong(std::string text) {
  return Fail(ErrorKind::kInvalid, std::move(text));
}

const Value::List* ListOf(const Value& value) {
  const auto* list = std::get_if<std::shared_ptr<const Value::List>>(&value.is);
  return list == nullptr ? nullptr : list->get();
}
const Value::Map* MapOf(const Value& value) {
  const auto* map = std::get_if<std::shared_ptr<const Value::Map>>(&value.is);
  return map == nullptr ? nullptr : map->get();
}
const std::string* TextOf(const Value& value) { return std::get_if<std::string>(&value.is); }
const long long* NumberOf(const Value& value) { return std::get_if<long long>(&value.is); }

Value Of(bool value) { return {value}; }
Value Of(long long value) { return {value}; }
Value Of(std::string value) { return {std::move(value)}; }

bool IsTrue(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value.is)) {
    return *flag;
  }
  if (const long long* number = NumberOf(value)) {
    return *number != 0;
  }
  if (const std::string* text = TextOf(value)) {
    return !text->empty();
  }
  if (const Value::List* list = ListOf(value)) {
    return !list->empty();
  }
  const Value::Map* map = MapOf(value);
  return map != nullptr && !map->empty();
}

std::string Print(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value.is)) {
    return *flag ? "true" : "false";
  }
  if (const long long* number = NumberOf(value)) {
    return format("{}", *number);
  }
  if (const std::string* text = TextOf(value)) {
    return *text;
  }
  std::vector<std::string> parts;
  if (const Value::List* list = ListOf(value)) {
    std::ranges::transform(*list, std::back_inserter(parts), Print);
    return format("[{}]", Join(parts, " "));
  }
  if (const Value::Map* map = MapOf(value)) {
    for (const auto& [key, element] : *map) {
      parts.push_back(format("{}:{}", key, Print(element)));
    }
    return format("map[{}]", Join(parts, " "));
  }
  return "<no value>";
}

using Arguments = std::vector<Value>;

Result<Value> Length(const Arguments& arguments) {
  if (const std::string* text = TextOf(arguments[0])) {
    return Of(static_cast<long long>(text->size()));
  }
  if (const Value::List* list = ListOf(arguments[0])) {
    return Of(static_cast<long long>(list->size()));
  }
  if (const Value::Map* map = MapOf(arguments[0])) {
    return Of(static_cast<long long>(map->size()));
  }
  return Wrong("len: this has no length");
}

Result<Value> Index(const Arguments& arguments) {
  Value value = arguments[0];
  for (size_t i = 1; i < arguments.size(); ++i) {
    const long long* number = NumberOf(arguments[i]);
    const std::string* key = TextOf(arguments[i]);
    if (const Value::List* list = ListOf(value); list != nullptr && number != nullptr) {
      if (*number < 0 || static_cast<size_t>(*number) >= list->size()) {
        return Wrong(format("index: {} is out of range", *number));
      }
      value = Value((*list)[static_cast<size_t>(*number)]);
    } else if (const Value::Map* map = MapOf(value); map != nullptr && key != nullptr) {
      const auto found = map->find(*key);
      value = found == map->end() ? Of(std::string()) : Value(found->second);
    } else {
      return Wrong("index: this can't be indexed so");
    }
  }
  return value;
}

Result<Value> PrintFormatted(const Arguments& arguments) {
  const std::string* pattern = TextOf(arguments[0]);
  if (pattern == nullptr) {
    return Wrong("printf: the first argument must be a text");
  }
  std::string text;
  size_t next = 1;
  for (size_t i = 0; i < pattern->size(); ++i) {
    if ((*pattern)[i] != '%') {
      text += (*pattern)[i];
      continue;
    }
    const char verb = ++i < pattern->size() ? (*pattern)[i] : '\0';
    if (verb == '%') {
      text += '%';
    } else if (std::string_view("svdqt").find(verb) == std::string_view::npos || verb == '\0') {
      return Wrong(format("printf: unknown verb in \"{}\"", *pattern));
    } else if (next >= arguments.size()) {
      return Wrong("printf: too few arguments");
    } else {
      const std::string printed = Print(arguments[next++]);
      text += verb == 'q' ? format("\"{}\"", printed) : printed;
    }
  }
  return Of(std::move(text));
}

// -1, 0, 1.
Result<int> Order(const Value& left, const Value& right) {
  if (left.is.index() == right.is.index()) {
    if (const long long* number = NumberOf(left)) {
      return *number < *NumberOf(right) ? -1 : (*number > *NumberOf(right) ? 1 : 0);
    }
    if (const std::string* text = TextOf(left)) {
      const int order = text->compare(*TextOf(right));
      return order < 0 ? -1 : (order > 0 ? 1 : 0);
    }
    if (const bool* flag = std::get_if<bool>(&left.is)) {
      return static_cast<int>(*flag) - static_cast<int>(std::get<bool>(right.is));
    }
  }
  return Wrong("compare: these types can't be compared");
}

Result<Value> Compare(const std::string& name, const Arguments& arguments) {
  if (name == "eq") {
    for (size_t i = 1; i < arguments.size(); ++i) {
      TRY_ASSIGN(const int order, Order(arguments[0], arguments[i]));
      if (order == 0) {
        return Of(true);
      }
    }
    return Of(false);
  }
  TRY_ASSIGN(const int order, Order(arguments[0], arguments[1]));
  if (name == "ne") {
    return Of(order != 0);
  }
  return Of(name == "lt" ? order < 0
                         : (name == "le" ? order <= 0 : (name == "gt" ? order > 0 : order >= 0)));
}

Value Choose(bool until, const Arguments& arguments) {
  const auto found = std::ranges::find(arguments, until, IsTrue);
  return found == arguments.end() ? arguments.back() : *found;
}

std::string PrintAll(const Arguments& arguments) {
  // As fmt.Sprint: a space only between two that are no texts.
  std::string text;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool apart =
        i > 0 && TextOf(arguments[i]) == nullptr && TextOf(arguments[i - 1]) == nullptr;
    text += apart ? " " : "";
    text += Print(arguments[i]);
  }
  return text;
}

Result<Value> CallFunction(const std::string& name, const Arguments& arguments) {
  const bool compares = name.size() == 2 && name != "or";
  const size_t least = compares ? 2 : (name == "print" || name == "println" ? 0 : 1);
  const size_t most = (compares && name != "eq") ? 2 : (name == "len" || name == "not" ? 1 : 1000);
  if (arguments.size() < least || arguments.size() > most) {
    return Wrong(format("{}: {} arguments", name, arguments.size()));
  }
  if (compares) {
    return Compare(name, arguments);
  }
  if (name == "not") {
    return Of(!IsTrue(arguments[0]));
  }
  if (name == "and" || name == "or") {
    return Choose(name == "or", arguments);
  }
  if (name == "len") {
    return Length(arguments);
  }
  if (name == "index") {
    return Index(arguments);
  }
  if (name == "printf") {
    return PrintFormatted(arguments);
  }
  if (name == "print") {
    return Of(PrintAll(arguments));
  }
  std::vector<std::string> parts;
  std::ranges::transform(arguments, std::back_inserter(parts), Print);
  return Of(Join(parts, " ") + "\n");
}

class Expansion {
 public:
  explicit Expansion(const Value& root) { variables_.emplace_back("$", root); }

  Status Run(const std::vector<Node>& nodes, const Value& dot) {
    const size_t scope = variables_.size();
    for (const Node& node : nodes) {
      TRY(Step());
      TRY(RunNode(node, dot));
    }
    variables_.resize(scope);
    return {};
  }
  std::string output;

 private:
  Status Step() {
    if (++steps_ > kSteps || output.size() > kLongest) {
      return Wrong("the template comes to too much");
    }
    return {};
  }

  Status RunNode(const Node& node, const Value& dot) {
    if (node.kind == Node::Kind::kText) {
      output += node.text;
      return {};
    }
    const size_t scope = variables_.size();
    TRY_ASSIGN(const Value value, Evaluate(node.pipeline, dot));
    if (node.kind == Node::Kind::kAction) {
      if (node.pipeline.variables.empty()) {
        output += Print(value);
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
    } else if (!std::holds_alternative<std::monostate>(over.is)) {
      return Wrong("range: this has no elements");
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
      TRY(Step());
      variables_.resize(scope);
    }
    return {};
  }

  Status Assign(const Pipeline& pipeline, const std::string& name, const Value& value) {
    if (pipeline.declares) {
      variables_.emplace_back(name, value);
      return {};
    }
    const auto known = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const auto& variable) { return variable.first == name; });
    if (known == variables_.rend()) {
      return Wrong(format("unknown variable {}", name));
    }
    known->second = value;
    return {};
  }

  Result<Value> Evaluate(const Pipeline& pipeline, const Value& dot) {
    std::optional<Value> last;
    for (const Command& command : pipeline.commands) {
      TRY(Step());
      if (command.front().kind != Operand::Kind::kFunction) {
        if (last.has_value()) {
          return Wrong("only functions can stand after |");
        }
        TRY_ASSIGN(last, Evaluate(command.front(), dot));
        continue;
      }
      // `and` and `or` look no further than they must, so that `and .x (index .x 0)` is safe.
      const std::string& name = command.front().name;
      const bool until = name == "or";
      bool decided = false;
      Arguments arguments;
      for (size_t i = 1; i < command.size() && !decided; ++i) {
        TRY_ASSIGN(arguments.emplace_back(), Evaluate(command[i], dot));
        decided = (until || name == "and") && IsTrue(arguments.back()) == until;
      }
      if (last.has_value() && !decided) {
        arguments.push_back(*last);
      }
      TRY_ASSIGN(last, CallFunction(name, arguments));
      if (const std::string* text = TextOf(*last); text != nullptr && text->size() > kLongest) {
        return Wrong("the template comes to too much");
      }
    }
    return last.value_or(Value());  // the parser makes no pipeline without commands
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
                         [&](const auto& variable) { return variable.first == operand.name; });
        if (known == variables_.rend()) {
          return Wrong(format("unknown variable {}", operand.name));
        }
        value = known->second;
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
        return Wrong(format("there is no .{}", field));
      }
      value = Value(found->second);
    }
    return value;
  }

  std::vector<std::pair<std::string, Value>> variables_;
  int steps_ = 0;
};

}  // namespace

Result<Template> Template::Parse(std::string_view text) {
  TRY_ASSIGN(Tree tree, ParseTree(text));
  return Template(std::make_shared<const Tree>(std::move(tree)));
}

Result<std::string> Template::Expand(const Value& dot) const {
  Expansion expansion(dot);
  TRY(expansion.Run(tree_->nodes, dot));
  if (expansion.output.size() > kLongest) {
    return Wrong("the template comes to too much");
  }
  return std::move(expansion.output);
}

}  // namespace gantry::node_feature_rule
