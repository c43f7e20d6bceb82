// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/toml_library.h"

namespace gantry::container {

// kInvalid names line and mistake.
Result<toml::table> ParseToml(std::string_view text);

// The table at the end of a path of keys; nullptr if a part is missing or not a table.
const toml::table* TableAt(const toml::table& root, const std::vector<std::string_view>& keys);

// Where the header of a table ("[a.b]") starts in the text that `root` was parsed from; npos if it
// has none of its own: a longer header, dotted keys or an inline table define it.
size_t HeaderOf(std::string_view text, const toml::table& root,
                const std::vector<std::string_view>& keys);

// Merges every key of `from` into `into`, table by table; the value of `from` wins.
void MergeToml(const toml::table& from, toml::table& into);

// The offset of a position of the parser (it counts lines and code points from 1).
size_t OffsetOf(std::string_view text, toml::source_position position);

// One past the line feed that ends the line at an offset, or the text's size.
size_t EndOfLine(std::string_view text, size_t offset);

// A value as written after "key = ".
std::string TomlValue(const toml::node& value);

// The table as text without indentation, a line feed at the end.
std::string TomlText(const toml::table& table);

}  // namespace gantry::container
