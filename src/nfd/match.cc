// SPDX-License-Identifier: Apache-2.0
// Do the terms of a rule match a node? The meaning is NFD's: a missing element satisfies only
// DoesNotExist and the empty operator; a flag has no value, so a rule can only ask whether it
// exists; a feature with both flags and attributes is looked up in both; one instance must satisfy
// all expressions.
#include "nfd/match.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace gantry::nfd {
namespace {

Result<int> CompareNumbers(std::string_view left, std::string_view right) {
  TRY_ASSIGN(const long long a, ParseInt(left));
  TRY_ASSIGN(const long long b, ParseInt(right));
  return a < b ? -1 : (a > b ? 1 : 0);
}

Result<bool> Compare(const Expression& expression, const std::string& value) {
  std::array<int, 2> order{};
  for (size_t i = 0; i < expression.values.size(); ++i) {
    const std::string& bound = expression.values[i];
    TRY_ASSIGN(order.at(i),
               expression.version ? CompareVersions(value, bound) : CompareNumbers(value, bound));
  }
  switch (expression.op) {
    case Op::kGt:
      return order[0] > 0;
    case Op::kGe:
      return order[0] >= 0;
    case Op::kLt:
      return order[0] < 0;
    case Op::kLe:
      return order[0] <= 0;
    case Op::kGtLt:
      return order[0] > 0 && order[1] < 0;
    default:
      return order[0] >= 0 && order[1] <= 0;
  }
}

// For an element that exists and has this value.
Result<bool> HoldsOfValue(const Expression& expression, const std::string& value) {
  const auto listed = [&] {
    return std::ranges::find(expression.values, value) != expression.values.end();
  };
  switch (expression.op) {
    case Op::kAny:
    case Op::kExists:
      return true;
    case Op::kDoesNotExist:
      return false;
    case Op::kIn:
      return listed();
    case Op::kNotIn:
      return !listed();
    case Op::kInRegexp:
      return std::ranges::any_of(expression.patterns, [&](const auto& pattern) {
        return RE2::PartialMatch(value, *pattern);
      });
    case Op::kIsTrue:
      return value == "true";
    case Op::kIsFalse:
      return value == "false";
    default:
      return Compare(expression, value);
  }
}

bool HoldsOfNothing(Op op) { return op == Op::kAny || op == Op::kDoesNotExist; }
bool HoldsOfFlag(Op op) { return op == Op::kAny || op == Op::kExists; }

// The sets of one feature that a term is matched against; null if absent.
struct Sets {
  const std::set<std::string, std::less<>>* flags = nullptr;
  const Elements* attributes = nullptr;
  const std::vector<Elements>* instances = nullptr;
};

struct Answer {
  bool holds = false;
  std::vector<Elements> matched;
};

// An expression on the names of the flags and attributes.
Result<Answer> MatchNames(const Expression& expression, const Sets& sets) {
  Answer answer;
  if (sets.flags != nullptr) {
    for (const std::string& flag : *sets.flags) {
      TRY_ASSIGN(const bool holds, HoldsOfValue(expression, flag));
      if (holds) {
        answer.matched.push_back({{"Name", flag}});
      }
    }
  }
  if (sets.attributes != nullptr) {
    for (const auto& [name, value] : *sets.attributes) {
      TRY_ASSIGN(const bool holds, HoldsOfValue(expression, name));
      if (holds) {
        answer.matched.push_back({{"Name", name}, {"Value", value}});
      }
    }
  }
  answer.holds = !answer.matched.empty();
  return answer;
}

// One expression on an element by name.
Result<Answer> MatchElement(const std::string& name, const Expression& expression,
                            const Sets& sets) {
  if (name == "*") {
    return MatchNames(expression, sets);
  }
  const bool flag = sets.flags != nullptr && sets.flags->contains(name);
  const auto* attribute = static_cast<const std::string*>(nullptr);
  if (sets.attributes != nullptr) {
    if (const auto found = sets.attributes->find(name); found != sets.attributes->end()) {
      attribute = &found->second;
    }
  }
  if (!flag && attribute == nullptr) {
    Answer answer{HoldsOfNothing(expression.op), {}};
    if (answer.holds) {
      answer.matched.push_back({{"Name", name}, {"Value", ""}});
    }
    return answer;
  }
  Answer answer;
  if (flag && HoldsOfFlag(expression.op)) {
    answer.holds = true;
    answer.matched.push_back({{"Name", name}});
  }
  if (attribute != nullptr) {
    TRY_ASSIGN(const bool holds, HoldsOfValue(expression, *attribute));
    if (holds) {
      answer.holds = true;
      answer.matched.push_back({{"Name", name}, {"Value", *attribute}});
    }
  }
  return answer;
}

// All expressions on the flags and attributes together.
Result<Answer> MatchAll(const std::map<std::string, Expression>& expressions, const Sets& sets) {
  Answer answer{true, {}};
  for (const auto& [name, expression] : expressions) {
    TRY_ASSIGN(const Answer one, MatchElement(name, expression, sets));
    if (!one.holds) {
      return Answer{};
    }
    answer.matched.insert(answer.matched.end(), one.matched.begin(), one.matched.end());
  }
  return answer;
}

// The instances that `match` accepts.
template <typename Ask>
Status AddInstances(const Sets& sets, const Ask& match, Answer& answer) {
  if (sets.instances == nullptr) {
    return {};
  }
  for (const Elements& instance : *sets.instances) {
    TRY_ASSIGN(const Answer one, match(Sets{.attributes = &instance}));
    if (one.holds) {
      answer.holds = true;
      answer.matched.push_back(instance);
    }
  }
  return {};
}

template <typename Ask>
Result<Answer> MatchSets(const Sets& sets, const Ask& match) {
  Answer answer;
  if (sets.flags != nullptr || sets.attributes != nullptr) {
    TRY_ASSIGN(answer, match(sets));
  }
  TRY(AddInstances(sets, match, answer));
  return answer;
}

template <typename Map>
auto Find(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : &found->second;
}

Result<Answer> MatchTerm(const Term& term, const Sets& sets) {
  Answer answer{true, {}};
  if (term.expressions.has_value()) {
    TRY_ASSIGN(answer, MatchSets(sets, [&](const Sets& part) {
                 return MatchAll(*term.expressions, part);
               }));
  }
  if (answer.holds && term.name.has_value()) {
    TRY_ASSIGN(const Answer named,
               MatchSets(sets, [&](const Sets& part) { return MatchNames(*term.name, part); }));
    answer.holds = named.holds;
    answer.matched.insert(answer.matched.end(), named.matched.begin(), named.matched.end());
  }
  return answer;
}

// "v1.27.3-gke.1" -> 1, 27, 3.
std::optional<std::vector<long long>> VersionParts(std::string_view text) {
  text = Trim(text);
  if (text.starts_with('v')) {
    text.remove_prefix(1);
  }
  std::vector<long long> parts;
  while (!text.empty()) {
    long long part = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (error != std::errc() || part < 0) {
      break;
    }
    parts.push_back(part);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with('.')) {
      break;
    }
    text.remove_prefix(1);
  }
  return parts.empty() ? std::nullopt : std::optional(parts);
}

}  // namespace

Result<int> CompareVersions(std::string_view left, std::string_view right) {
  auto a = VersionParts(left);
  auto b = VersionParts(right);
  if (!a.has_value() || !b.has_value()) {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is no version", a.has_value() ? right : left));
  }
  const size_t size = std::max(a->size(), b->size());
  a->resize(size);
  b->resize(size);
  return *a < *b ? -1 : (*a > *b ? 1 : 0);
}

Result<Match> MatchTerms(const Terms& terms, const Features& features) {
  Match match{true, {}};
  for (const Term& term : terms) {
    const std::string feature = Lower(term.feature);
    const Sets sets{.flags = Find(features.flags, feature),
                    .attributes = Find(features.attributes, feature),
                    .instances = Find(features.instances, feature)};
    if (sets.flags == nullptr && sets.attributes == nullptr && sets.instances == nullptr) {
      return Match{};
    }
    TRY_ASSIGN(Answer answer, MatchTerm(term, sets));
    if (!answer.holds) {
      return Match{};
    }
    const size_t dot = term.feature.find('.');
    const std::string domain = dot == std::string::npos ? feature : term.feature.substr(0, dot);
    const std::string name = dot == std::string::npos ? "" : term.feature.substr(dot + 1);
    std::vector<Elements>& into = match.matched[domain][name];
    into.insert(into.end(), answer.matched.begin(), answer.matched.end());
  }
  return match;
}

}  // namespace gantry::nfd
