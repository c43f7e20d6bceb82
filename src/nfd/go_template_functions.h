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

// An argument that is known to be a string.
inline const std::string& TextAt(const Arguments& of, size_t place) { return *TextOf(of[place]); }

// The error of a function or a template.
inline std::unexpected<Error> CannotDo(std::string text) {
  return Fail(ErrorKind::kInvalid, std::move(text));
}

struct Function {
  std::string_view name;
  // A letter for each argument: t a string, i an integer, b a bool, l a list, v anything; '*' after
  // the last: any number of it.
  std::string_view takes;
  Result<Value> (*call)(const Arguments& arguments);  // with exactly these
};

// Sprig's functions on strings and lists, and those on numbers, with its order of arguments.
std::span<const Function> SprigFunctions();
std::span<const Function> SprigNumbers();
// As Sprig converts anything to an integer; 0 if it cannot.
long long IntegerOf(const Value& value);

// A function of Go's templates or of Sprig; Sprig's wins, as in NFD. Null: there is none.
const Function* FindFunction(std::string_view name);

// kInvalid: arguments of the wrong number or type, or without a result. A resulting string may be a
// little longer than kLongestText, and then counts as too long.
Result<Value> Call(const Function& function, const Arguments& arguments);

}  // namespace gantry::nfd
