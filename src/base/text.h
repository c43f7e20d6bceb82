// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry {

// fmt::format. An object, so that C++20's std::format is not found beside it by its arguments.
struct Format {
  template <typename... T>
  std::string operator()(fmt::format_string<T...> text, T&&... values) const {
    return fmt::vformat(text, fmt::make_format_args(values...));
  }
};
inline constexpr Format format;

// Splits at each separator; an empty text gives no parts, "a,,b" gives three.
std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
// Without the white space at both ends.
std::string_view Trim(std::string_view text);
std::string Lower(std::string_view text);
std::string Upper(std::string_view text);
// The beginning of the text, at most `most` bytes; no UTF-8 character is cut in two.
std::string_view Cut(std::string_view text, size_t most);

// How many letters must be inserted, removed or replaced, or neighbours swapped, to turn one word
// into the other.
size_t EditDistance(std::string_view left, std::string_view right);

// Bool as Go's strconv.ParseBool reads it: 1 t T TRUE true True, 0 f F FALSE false False.
// kInvalid otherwise, naming the text.
Result<bool> ParseBool(std::string_view text);
// A whole decimal number; kInvalid otherwise, naming the text.
Result<long long> ParseInt(std::string_view text);

}  // namespace gantry
