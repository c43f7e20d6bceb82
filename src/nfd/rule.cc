// SPDX-License-Identifier: Apache-2.0
// What does a NodeFeatureRule say? Operators, regular expressions, numbers and templates are
// checked here, once, so a mistake is reported with its field and not for every node. Regular
// expressions are RE2's, as NFD's are: their time is linear in the input, whatever the expression.
#include "nfd/rule.h"

#include <re2/re2.h>

#include <algorithm>
#include <limits>

#include "base/json_shape.h"
#include "base/text.h"

namespace gantry::nfd {
namespace {

constexpr size_t kMost = std::numeric_limits<size_t>::max();

struct OpRule {
  const char* name;
  Op op;
  size_t least;  // values
  size_t most;
};
constexpr OpRule kOps[] = {
    {"", Op::kAny, 0, 0},
    {"In", Op::kIn, 1, kMost},
    {"NotIn", Op::kNotIn, 1, kMost},
    {"InRegexp", Op::kInRegexp, 1, kMost},
    {"Exists", Op::kExists, 0, 0},
    {"DoesNotExist", Op::kDoesNotExist, 0, 0},
    {"Gt", Op::kGt, 1, 1},
    {"Ge", Op::kGe, 1, 1},
    {"Lt", Op::kLt, 1, 1},
    {"Le", Op::kLe, 1, 1},
    {"GtLt", Op::kGtLt, 2, 2},
    {"GeLe", Op::kGeLe, 2, 2},
    {"IsTrue", Op::kIsTrue, 0, 0},
    {"IsFalse", Op::kIsFalse, 0, 0},
};

constexpr KnownKey kExpressionKeys[] = {
    {"op", Shape::kText}, {"value", Shape::kAny}, {"type", Shape::kText}};
constexpr KnownKey kTermKeys[] = {
    {"feature", Shape::kText}, {"matchExpressions", Shape::kAny}, {"matchName", Shape::kAny}};
constexpr KnownKey kAnyKeys[] = {{"matchFeatures", Shape::kMaps, kTermKeys}};
constexpr KnownKey kTaintKeys[] = {{"key", Shape::kText},
                                   {"value", Shape::kText},
                                   {"effect", Shape::kText},
                                   {"timeAdded", Shape::kText}};
constexpr KnownKey kRuleKeys[] = {{"name", Shape::kText},
                                  {"labels", Shape::kAny},
                                  {"labelsTemplate", Shape::kText},
                                  {"annotations", Shape::kAny},
                                  {"vars", Shape::kAny},
                                  {"varsTemplate", Shape::kText},
                                  {"extendedResources", Shape::kAny},
                                  {"taints", Shape::kMaps, kTaintKeys},
                                  {"matchFeatures", Shape::kMaps, kTermKeys},
                                  {"matchAny", Shape::kMaps, kAnyKeys}};

std::unexpected<Error> Wrong(const std::string& where, std::string_view reason) {
  return Fail(ErrorKind::kInvalid, format("{}: {}", where, reason));
}

// Without its unknown key, a rule may have fewer conditions than its author meant.
Status RefuseUnknown(Json& map, std::span<const KnownKey> keys, const std::string& where) {
  TRY_ASSIGN(const std::vector<std::string> unknown, Conform(map, keys, where));
  if (!unknown.empty()) {
    return Fail(ErrorKind::kUnsupported, format("{}: unknown key", Join(unknown, ", ")));
  }
  return {};
}

bool Compares(Op op) { return op >= Op::kGt && op <= Op::kGeLe; }

// A scalar as a string: YAML and hand-written JSON have numbers and bools where a string is meant.
Result<std::string> Text(const Json& json, const std::string& where) {
  if (json.is_string()) {
    return json.get<std::string>();
  }
  if (json.is_number() || json.is_boolean()) {
    return json.dump();
  }
  return Wrong(where, "must be a text");
}

Result<Elements> ParseMap(const Json& rule, const char* field, const std::string& where) {
  Elements map;
  const Json* json = At(rule, field);
  if (json == nullptr || json->is_null()) {
    return map;
  }
  if (!json->is_object()) {
    return Wrong(format("{}.{}", where, field), "must be a map");
  }
  for (const auto& [key, value] : json->items()) {
    TRY_ASSIGN(map[key], Text(value, format("{}.{}[{}]", where, field, key)));
  }
  return map;
}

Status CompilePatterns(Expression& expression, const std::string& where) {
  for (const std::string& value : expression.values) {
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(int64_t{1} << 20);
    auto pattern = std::make_shared<const RE2>(value, options);
    if (!pattern->ok()) {
      return Wrong(where, format("\"{}\" is no regular expression: {}", value, pattern->error()));
    }
    expression.patterns.push_back(std::move(pattern));
  }
  return {};
}

// A scalar, or a list of them.
Result<std::vector<std::string>> ParseValues(const Json& json, const std::string& where) {
  std::vector<std::string> values;
  for (const Json& value : json.is_array() ? json : Json::array({json})) {
    TRY_ASSIGN(values.emplace_back(), Text(value, where));
  }
  return values;
}

Result<Expression> ParseFullExpression(Json json, const std::string& where) {
  TRY(RefuseUnknown(json, kExpressionKeys, where));
  const std::string name = TextAt(json, "op");
  const auto* known =
      std::ranges::find(kOps, name, [](const OpRule& rule) { return std::string_view(rule.name); });
  if (known == std::end(kOps)) {
    return Wrong(where, format("unknown op \"{}\"", name));
  }
  Expression expression{.op = known->op, .version = false, .values = {}, .patterns = {}};
  if (const Json* values = At(json, "value"); values != nullptr && !values->is_null()) {
    TRY_ASSIGN(expression.values, ParseValues(*values, where));
  }
  if (expression.values.size() < known->least || expression.values.size() > known->most) {
    return Wrong(where, format("op \"{}\" has {} values", name, expression.values.size()));
  }
  const std::string type = TextAt(json, "type");
  if (!type.empty() && type != "version") {
    return Wrong(where, format("unknown type \"{}\"", type));
  }
  expression.version = type == "version";
  if (Compares(expression.op) && !expression.version) {
    for (const std::string& value : expression.values) {
      if (const auto number = ParseInt(value); !number.has_value()) {
        return Wrong(where, number.error().message);
      }
    }
  }
  if (expression.op == Op::kInRegexp) {
    TRY(CompilePatterns(expression, where));
  }
  return expression;
}

Expression In(std::vector<std::string> values) {
  return {.op = Op::kIn, .version = false, .values = std::move(values), .patterns = {}};
}

Expression Exists() { return {.op = Op::kExists, .version = false, .values = {}, .patterns = {}}; }

// A map with op and value; or, in short form, a list of allowed values.
Result<Expression> ParseExpression(const Json& json, const std::string& where) {
  if (json.is_object()) {
    return ParseFullExpression(json, where);
  }
  TRY_ASSIGN(std::vector<std::string> values, ParseValues(json, where));
  if (values.empty()) {
    return Wrong(where, "has no values");
  }
  return In(std::move(values));
}

// A map of expressions by name, null if the name must only exist; or, in short form, a list of
// names and of "name=value".
Result<std::map<std::string, Expression>> ParseExpressions(const Json& json,
                                                           const std::string& where) {
  std::map<std::string, Expression> expressions;
  if (json.is_object()) {
    for (const auto& [name, expression] : json.items()) {
      if (expression.is_null()) {
        expressions[name] = Exists();
      } else {
        TRY_ASSIGN(expressions[name], ParseExpression(expression, format("{}[{}]", where, name)));
      }
    }
    return expressions;
  }
  if (!json.is_array() ||
      !std::ranges::all_of(json, [](const Json& name) { return name.is_string(); })) {
    return Wrong(where, "must be a map of expressions or a list of names");
  }
  for (const Json& entry : json) {
    const auto name = entry.get<std::string>();
    const size_t equals = name.find('=');
    expressions[name.substr(0, equals)] =
        equals == std::string::npos ? Exists() : In({name.substr(equals + 1)});
  }
  return expressions;
}

Result<Terms> ParseTerms(const Json& json, const std::string& where) {
  Terms terms;
  for (const Json& entry : json) {
    const std::string at = format("{}[{}]", where, terms.size());
    Term& term = terms.emplace_back();
    term.feature = TextAt(entry, "feature");
    if (term.feature.empty()) {
      return Wrong(at, "has no feature");
    }
    if (const Json* asked = At(entry, "matchExpressions"); asked != nullptr) {
      TRY_ASSIGN(term.expressions, ParseExpressions(*asked, at + ".matchExpressions"));
    }
    if (const Json* name = At(entry, "matchName"); name != nullptr) {
      TRY_ASSIGN(term.name, ParseExpression(*name, at + ".matchName"));
    }
  }
  return terms;
}

// Whether a node may have them is checked when they are written to it.
std::vector<Taint> ParseTaints(const Json& rule) {
  std::vector<Taint> taints;
  for (const Json& entry : ListAt(rule, "taints")) {
    taints.push_back({TextAt(entry, "key"), TextAt(entry, "value"), TextAt(entry, "effect")});
  }
  return taints;
}

Result<std::optional<Template>> ParseTemplate(const Json& rule, const char* field,
                                              const std::string& where) {
  const std::string text = TextAt(rule, field);
  if (text.empty()) {
    return std::nullopt;
  }
  Result<Template> parsed = Template::Parse(text);
  if (!parsed.has_value()) {
    return Wrong(format("{}.{}", where, field), parsed.error().message);
  }
  return *std::move(parsed);
}

Result<Rule> ParseRule(Json json, const std::string& where) {
  TRY(RefuseUnknown(json, kRuleKeys, where));
  Rule rule;
  rule.name = TextAt(json, "name");
  TRY_ASSIGN(rule.labels, ParseMap(json, "labels", where));
  TRY_ASSIGN(rule.annotations, ParseMap(json, "annotations", where));
  TRY_ASSIGN(rule.vars, ParseMap(json, "vars", where));
  TRY_ASSIGN(rule.extended_resources, ParseMap(json, "extendedResources", where));
  rule.taints = ParseTaints(json);
  TRY_ASSIGN(rule.labels_template, ParseTemplate(json, "labelsTemplate", where));
  TRY_ASSIGN(rule.vars_template, ParseTemplate(json, "varsTemplate", where));
  if (const Json* all = At(json, "matchFeatures"); all != nullptr) {
    TRY_ASSIGN(rule.all, ParseTerms(*all, where + ".matchFeatures"));
  }
  for (const Json& entry : ListAt(json, "matchAny")) {
    const std::string at = format("{}.matchAny[{}]", where, rule.any.size());
    const Json* terms = At(entry, "matchFeatures");
    if (terms == nullptr) {
      return Wrong(at, "has no matchFeatures");
    }
    TRY_ASSIGN(rule.any.emplace_back(), ParseTerms(*terms, at + ".matchFeatures"));
  }
  return rule;
}

void AddNeeds(const Terms& terms, bool templates, Needs& needs) {
  for (const Term& term : terms) {
    Need& need = needs[Lower(term.feature)];
    need.all |= term.name.has_value();
    need.all_attributes |= templates;
    if (term.expressions.has_value()) {
      for (const auto& [name, expression] : *term.expressions) {
        need.all |= name == "*";
        need.names.insert(name);
      }
    }
  }
}

}  // namespace

ParsedRules ParseRules(const Json& rules) {
  ParsedRules parsed;
  if (!rules.is_array()) {
    parsed.mistakes.push_back({"*", {ErrorKind::kInvalid, "rules: must be a list"}});
    return parsed;
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    std::string name = TextAt(rules[i], "name");
    name = name.empty() ? format("{}", i) : name;
    auto rule = ParseRule(rules[i], format("rule {}", name));
    if (rule.has_value()) {
      parsed.rules.push_back(*std::move(rule));
    } else {
      parsed.mistakes.push_back({std::move(name), std::move(rule).error()});
    }
  }
  return parsed;
}

Needs NeedsOf(const std::vector<Rule>& rules) {
  Needs needs;
  for (const Rule& rule : rules) {
    const bool templates = rule.labels_template.has_value() || rule.vars_template.has_value();
    AddNeeds(rule.all, templates, needs);
    for (const Terms& terms : rule.any) {
      AddNeeds(terms, templates, needs);
    }
    for (const Elements* values : {&rule.labels, &rule.extended_resources}) {
      for (const auto& [key, value] : *values) {
        if (const auto reference = ParseReference(value); reference.has_value()) {
          needs[reference->feature].names.insert(reference->element);
        }
      }
    }
  }
  return needs;
}

std::optional<Reference> ParseReference(const std::string& value) {
  const size_t first = value.find('.');
  const size_t second = first == std::string::npos ? first : value.find('.', first + 1);
  if (!value.starts_with('@') || second == std::string::npos) {
    return std::nullopt;
  }
  return Reference{Lower(std::string_view(value).substr(1, second - 1)), value.substr(second + 1)};
}

}  // namespace gantry::nfd
