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

// A condition on one value, or on whether there is one.
struct Expression {
  Op op = Op::kAny;
  bool version = false;  // compared as a version, not as a whole number
  std::vector<std::string> values;
  std::vector<std::shared_ptr<const re2::RE2>> patterns;  // of kInRegexp, one for each value
};

// One feature and what must hold of it.
struct Term {
  std::string feature;  // "<domain>.<feature>" as written; looked up in lower case
  // By element name; all must hold. None: not asked. The key "*" is a condition on names.
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
  std::vector<Terms> any;  // one of them must hold, if there is one
};

struct ParsedRules {
  std::vector<Rule> rules;  // those without a mistake, in their order
  struct Mistake {
    std::string rule;  // its name, or its place
    Error error;       // names the field; kUnsupported: there is a key that no rule has
  };
  std::vector<Mistake> mistakes;  // of the others, in their order
};
// `spec.rules` of a NodeFeatureRule, or the rules of a worker's configuration. Both may have NFD's
// short forms of matchExpressions, which the API server lets no NodeFeatureRule have. Keys are read
// as Conform does.
ParsedRules ParseRules(const Json& rules);

// What these rules can see of a node.
Needs NeedsOf(const std::vector<Rule>& rules);

// The feature and the element that "@domain.feature.element" stands for; nothing for another text.
struct Reference {
  std::string feature;
  std::string element;
};
std::optional<Reference> ParseReference(const std::string& value);

}  // namespace gantry::nfd
