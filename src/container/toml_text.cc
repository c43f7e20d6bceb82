// SPDX-License-Identifier: Apache-2.0
// Where in a TOML text are its tables and values? With positions, an administrator's file can be
// edited and keeps its comments.
#include "container/toml_text.h"

#include <sstream>

#include "base/text.h"

namespace gantry::container {

Result<toml::table> ParseToml(std::string_view text) {
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Fail(ErrorKind::kInvalid, format("line {}: {}", parsed.error().source().begin.line,
                                            parsed.error().description()));
  }
  return std::move(parsed).table();
}

const toml::table* TableAt(const toml::table& root, const std::vector<std::string_view>& keys) {
  const toml::table* here = &root;
  for (const std::string_view key : keys) {
    const toml::node* child = here->get(key);
    here = child == nullptr ? nullptr : child->as_table();
    if (here == nullptr) {
      return nullptr;
    }
  }
  return here;
}

size_t HeaderOf(std::string_view text, const toml::table& root,
                const std::vector<std::string_view>& keys) {
  const toml::table* table = TableAt(root, keys);
  if (table == nullptr) {
    return std::string_view::npos;
  }
  // The parser gives a table without a header the position of the element that caused it.
  const size_t at = OffsetOf(text, table->source().begin);
  const auto line = ParseToml(text.substr(at, EndOfLine(text, at) - at));
  const toml::table* named = line && text[at] == '[' ? TableAt(*line, keys) : nullptr;
  return named != nullptr && named->empty() ? at : std::string_view::npos;
}

void MergeToml(const toml::table& from, toml::table& into) {
  for (const auto& [key, value] : from) {
    const toml::table* table = value.as_table();
    toml::table* present = into.get_as<toml::table>(key.str());
    if (table != nullptr && present != nullptr) {
      MergeToml(*table, *present);
    } else {
      value.visit([&](const auto& typed) { into.insert_or_assign(key.str(), typed); });
    }
  }
}

size_t OffsetOf(std::string_view text, toml::source_position position) {
  size_t offset = 0;
  for (toml::source_index line = 1; line < position.line; ++line) {
    offset = EndOfLine(text, offset);
  }
  for (toml::source_index column = 1; column < position.column && offset < text.size(); ++column) {
    ++offset;
    while (offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80) {
      ++offset;  // the rest of a code point
    }
  }
  return offset;
}

size_t EndOfLine(std::string_view text, size_t offset) {
  const size_t end = text.find('\n', offset);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::string TomlValue(const toml::node& value) {
  std::ostringstream out;
  out << toml::toml_formatter(
      value, toml::toml_formatter::default_flags & ~(toml::format_flags::indent_sub_tables |
                                                     toml::format_flags::allow_literal_strings));
  return out.str();
}

std::string TomlText(const toml::table& table) { return TomlValue(table) + "\n"; }

}  // namespace gantry::container
