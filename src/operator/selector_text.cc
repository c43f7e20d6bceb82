// SPDX-License-Identifier: Apache-2.0

// How is an administrator's label selector sent to the API server? The API server does the
// selection and checks keys and values, so the selector is only converted here.

#include "operator/selector_text.h"

#include <vector>

#include "base/text.h"

namespace gantry::gpu_operator {
namespace {

std::unexpected<Error> Wrong(std::string_view field, std::string_view why) {
  return Fail(ErrorKind::kInvalid, format("{}: {}", field, why));
}

Result<std::string> ExpressionText(const Json& expression) {
  const std::string key = TextAt(expression, "key");
  const std::string op = TextAt(expression, "operator");
  if (key.empty()) {
    return Wrong("matchExpressions", "an entry has no key");
  }
  if (op == "Exists") {
    return key;
  }
  if (op == "DoesNotExist") {
    return "!" + key;
  }
  if (op != "In" && op != "NotIn") {
    return Wrong("matchExpressions",
                 format("{}: \"{}\" is none of In, NotIn, Exists, DoesNotExist", key, op));
  }
  std::vector<std::string> values;
  for (const Json& value : ListAt(expression, "values")) {
    values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (values.empty()) {
    return Wrong("matchExpressions", format("{}: {} needs values", key, op));
  }
  return format("{} {} ({})", key, op == "In" ? "in" : "notin", Join(values, ","));
}

}  // namespace

Result<std::string> SelectorText(const Json& selector) {
  if (!selector.is_object()) {
    return Wrong("selector", "must be a map");
  }
  std::vector<std::string> terms;
  for (const auto& [field, value] : selector.items()) {
    if (field == "matchLabels" && value.is_object()) {
      for (const auto& [key, wanted] : value.items()) {
        terms.push_back(
            format("{}={}", key, wanted.is_string() ? wanted.get<std::string>() : wanted.dump()));
      }
    } else if (field == "matchExpressions" && value.is_array()) {
      for (const Json& expression : value) {
        TRY_ASSIGN(terms.emplace_back(), ExpressionText(expression));
      }
    } else {
      return Wrong(field, "neither a map matchLabels nor a list matchExpressions");
    }
  }
  return Join(terms, ",");
}

}  // namespace gantry::gpu_operator
