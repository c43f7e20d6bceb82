// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "nfd/go_template.h"
#include "nfd/go_template_value.h"

namespace gantry::nfd {

using Arguments = std::vector<Value>;

// An argument that is known to be a text.
inline const std::string& TextAt(const Arguments& of, size_t place) { return *TextOf(of[place]); }

// What a function or a template says that it can't do.
inline std::unexpected<Error> CannotDo(std::string text) {
  return Fail(ErrorKind::kInvalid, std::move(text));
}

struct Function {
  std::string_view name;
  // A letter for each argument: t a text, i a whole number, b a bool, l a list, v anything; '*'
  // after the last: any number of it.
  std::string_view takes;
  Result<Value> (*call)(const Arguments& arguments);  // these and no others
};

// Sprig's functions about texts and lists, and those about numbers, with its order of arguments.
std::span<const Function> SprigFunctions();
std::span<const Function> SprigNumbers();
// As Sprig makes a whole number of anything; 0 of what is none.
long long IntegerOf(const Value& value);

// A function of Go's templates or of Sprig; Sprig's wins, as in NFD. Null: there is none.
const Function* FindFunction(std::string_view name);

// kInvalid: not the arguments that it takes, or not ones that it has an answer for. A text that
// comes out may be a little longer than kLongestText, and is then too long.
Result<Value> Call(const Function& function, const Arguments& arguments);

}  // namespace gantry::nfd
