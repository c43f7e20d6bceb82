// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "nfd/features.h"
#include "nfd/go_template.h"

namespace re2 {
class RE2;
}

namespace gantry::nfd {

enum class Op {
  kAny,
  kIn,
  kNotIn,
  kInRegexp,
  kExists,
  kDoesNotExist,
  kGt,
  kGe,
  kLt,
  kLe,
  kGtLt,
  kGeLe,
  kIsTrue,
  kIsFalse,
};

// A condition on one value, or on its existence.
struct Expression {
  Op op = Op::kAny;
  bool version = false;  // compared as a version, not as a whole number
  std::vector<std::string> values;
  std::vector<std::shared_ptr<const re2::RE2>> patterns;  // of kInRegexp, one for each value
};

// One feature and the conditions on it.
struct Term {
  std::string feature;  // "<domain>.<feature>" as written; looked up in lower case
  // By element name; all must hold. None: no condition. The key "*" is a condition on names.
  std::optional<std::map<std::string, Expression>> expressions;
  std::optional<Expression> name;  // some element's name must satisfy it
};
using Terms = std::vector<Term>;  // all must hold

struct Taint {  // as written
  std::string key;
  std::string value;
  std::string effect;
  bool operator==(const Taint&) const = default;
};

struct Rule {
  std::string name;
  Elements labels;
  Elements annotations;
  Elements vars;
  Elements extended_resources;
  std::vector<Taint> taints;
  std::optional<Template> labels_template;
  std::optional<Template> vars_template;
  Terms all;
  std::vector<Terms> any;  // at least one must hold, unless empty
};

struct ParsedRules {
  std::vector<Rule> rules;  // those without a mistake, in their order
  struct Mistake {
    std::string rule;  // its name, or its index
    Error error;       // names the field; kUnsupported: there is a key that no rule has
  };
  std::vector<Mistake> mistakes;  // of the rejected rules, in their order
};
// `spec.rules` of a NodeFeatureRule, or the rules of a worker's configuration. Both may have NFD's
// short forms of matchExpressions; the API server rejects these in a NodeFeatureRule. Keys are read
// as Conform does.
ParsedRules ParseRules(const Json& rules);

// The features of a node that these rules read.
Needs NeedsOf(const std::vector<Rule>& rules);

// The feature and the element that "@domain.feature.element" names; nothing if it is not a
// reference.
struct Reference {
  std::string feature;
  std::string element;
};
std::optional<Reference> ParseReference(const std::string& value);

}  // namespace gantry::nfd
