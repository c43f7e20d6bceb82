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

// The table at the end of a path of keys; nullptr if a part is missing or no table.
const toml::table* TableAt(const toml::table& root, const std::vector<std::string_view>& keys);

// Where the header of a table ("[a.b]") starts in the text that `root` was parsed from; npos if the
// table has none of its own: it is there by a longer header, by dotted keys, or in a line.
size_t HeaderOf(std::string_view text, const toml::table& root,
                const std::vector<std::string_view>& keys);

// Puts every key of `from` into `into`, table by table; the value of `from` wins.
void MergeToml(const toml::table& from, toml::table& into);

// Where in the text a position of the parser lies (it counts lines and code points from 1).
size_t OffsetOf(std::string_view text, toml::source_position position);

// One past the line feed that ends the line at an offset, or the text's size.
size_t EndOfLine(std::string_view text, size_t offset);

// A value as it stands behind "key = ".
std::string TomlValue(const toml::node& value);

// The table as text, tables indented under nothing, a line feed at the end.
std::string TomlText(const toml::table& table);

}  // namespace gantry::container
