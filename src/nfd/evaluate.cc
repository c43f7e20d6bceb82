// SPDX-License-Identifier: Apache-2.0
// What do the NodeFeatureRules of a cluster say about one node? Each rule that holds adds its
// labels and the lines of its templates; a rule that cannot be evaluated is left out, and only that
// one.
#include "nfd/evaluate.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/text.h"
#include "nfd/label_policy.h"
#include "nfd/match.h"

namespace gantry::nfd {
namespace {

constexpr char kMatchedRules[] = "rule.matched";

// domain -> feature -> list of elements, as templates see it.
Value ToValue(const Matched& matched) {
  auto domains = std::make_shared<Value::Map>();
  for (const auto& [domain, features] : matched) {
    auto map = std::make_shared<Value::Map>();
    for (const auto& [feature, elements] : features) {
      auto list = std::make_shared<Value::List>();
      for (const Elements& element : elements) {
        auto fields = std::make_shared<Value::Map>();
        for (const auto& [name, value] : element) {
          fields->emplace(name, Value{value});
        }
        list->push_back({std::shared_ptr<const Value::Map>(std::move(fields))});
      }
      map->emplace(feature, Value{std::shared_ptr<const Value::List>(std::move(list))});
    }
    domains->emplace(domain, Value{std::shared_ptr<const Value::Map>(std::move(map))});
  }
  return {std::shared_ptr<const Value::Map>(std::move(domains))};
}

// `field` is the field that holds the template.
Status ExpandInto(const char* field, const std::optional<Template>& text, const Matched& matched,
                  Elements& into) {
  if (!text.has_value()) {
    return {};
  }
  const Result<std::string> lines = text->Expand(ToValue(matched));
  if (!lines.has_value()) {
    return std::unexpected(lines.error().In(field));
  }
  for (const std::string& raw : Split(*lines, '\n')) {
    const std::string_view line = Trim(raw);
    const size_t equals = line.find('=');
    if (line.empty()) {
      continue;
    }
    if (equals == std::string_view::npos) {
      return Fail(ErrorKind::kInvalid, format("{}: line \"{}\" has no value", field, line));
    }
    into.insert_or_assign(std::string(Trim(line.substr(0, equals))),
                          std::string(Trim(line.substr(equals + 1))));
  }
  return {};
}

void Put(const Elements& from, Elements& into) {
  for (const auto& [key, value] : from) {
    into.insert_or_assign(key, value);
  }
}

// The labels and vars of a rule that holds; false if it does not.
Result<bool> Apply(const Rule& rule, const Features& features, Elements& labels, Elements& vars) {
  bool any = rule.any.empty();
  for (const Terms& terms : rule.any) {
    TRY_ASSIGN(const Match match, MatchTerms(terms, features));
    if (match.holds) {
      any = true;
      TRY(ExpandInto("labelsTemplate", rule.labels_template, match.matched, labels));
      TRY(ExpandInto("varsTemplate", rule.vars_template, match.matched, vars));
    }
  }
  if (!any) {
    return false;
  }
  if (!rule.all.empty()) {
    TRY_ASSIGN(const Match match, MatchTerms(rule.all, features));
    if (!match.holds) {
      return false;
    }
    TRY(ExpandInto("labelsTemplate", rule.labels_template, match.matched, labels));
    TRY(ExpandInto("varsTemplate", rule.vars_template, match.matched, vars));
  }
  Put(rule.labels, labels);
  Put(rule.vars, vars);
  return true;
}

}  // namespace

Elements Resolve(const Elements& labels, const Features& features,
                 std::vector<std::string>& mistakes) {
  Elements resolved;
  for (const auto& [key, value] : labels) {
    const auto reference = ParseReference(value);
    if (!reference.has_value()) {
      resolved.emplace(key, value);
      continue;
    }
    const auto feature = features.attributes.find(reference->feature);
    const auto* found = static_cast<const std::string*>(nullptr);
    if (feature != features.attributes.end()) {
      const auto element = feature->second.find(reference->element);
      found = element == feature->second.end() ? nullptr : &element->second;
    }
    if (found == nullptr) {
      mistakes.push_back(format("{}: there is no {}", key, value));
    } else {
      resolved.emplace(key, *found);
    }
  }
  return resolved;
}

Outputs Evaluate(const std::vector<RuleObject>& objects, Features features,
                 const RefuseLabel& refuse) {
  std::vector<const RuleObject*> ordered;
  std::ranges::transform(objects, std::back_inserter(ordered),
                         [](const RuleObject& object) { return &object; });
  std::ranges::sort(ordered, {}, [](const RuleObject* object) { return object->name; });
  Outputs outputs;
  for (const RuleObject* object : ordered) {
    for (const Rule& rule : object->rules) {
      Elements labels;
      Elements vars;
      const Result<bool> holds = Apply(rule, features, labels, vars);
      const auto note = [&](std::string reason) {
        outputs.mistakes.push_back(
            {object->name, object->uid, object->generation, rule.name, std::move(reason)});
      };
      if (!holds.has_value()) {
        note(holds.error().message);
        continue;
      }
      if (!*holds) {
        continue;
      }
      std::vector<std::string> wrong;
      Elements& matched = features.attributes[kMatchedRules];
      Put(labels, matched);
      Put(vars, matched);
      const auto resolved = [&](const Elements& values) {
        return Resolve(WithPrefixes(values), features, wrong);
      };
      const Elements said = resolved(labels);
      for (const auto& [key, value] : said) {
        if (std::string reason = refuse ? refuse(key, value) : ""; !reason.empty()) {
          wrong.push_back(std::move(reason));
        }
      }
      Put(said, outputs.labels);
      Put(WithPrefixes(rule.annotations), outputs.annotations);
      Put(resolved(rule.extended_resources), outputs.extended_resources);
      if (!wrong.empty()) {
        note(Join(wrong, "; "));
      }
      for (const Taint& taint : rule.taints) {
        if (std::ranges::find(outputs.taints, taint) == outputs.taints.end()) {
          outputs.taints.push_back(taint);
        }
      }
    }
  }
  return outputs;
}

}  // namespace gantry::nfd
