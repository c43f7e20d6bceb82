// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace gantry::nfd {

// A value inside a template.
struct Value {
  using List = std::vector<Value>;
  using Map = std::map<std::string, Value>;
  std::variant<std::monostate, bool, long long, double, std::string, std::shared_ptr<const List>,
               std::shared_ptr<const Map>>
      is;
};

struct Tree;

// A template of Go's text/template: actions with pipelines, if, range, with, break, continue,
// variables, comments, trim markers, and the functions of Go and of Sprig that
// go_template_functions.cc and sprig_functions.cc list. Not supported: define, template, block,
// complex numbers; Parse rejects them. Immutable, cheap to copy.
class Template {
 public:
  // kInvalid names the mistake and the line.
  static Result<Template> Parse(std::string_view text);

  // kInvalid: a field that is missing, an argument that a function does not accept, or more than 64
  // KiB of output or 100,000 steps.
  [[nodiscard]] Result<std::string> Expand(const Value& dot) const;

 private:
  explicit Template(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

}  // namespace gantry::nfd
