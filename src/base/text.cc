// SPDX-License-Identifier: Apache-2.0
// Which string operations does the standard library lack?
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gantry {

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) {
    return parts;
  }
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    if (end == std::string_view::npos) {
      parts.emplace_back(text.substr(begin));
      return parts;
    }
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) {
      out += separator;
    }
    out += parts[i];
  }
  return out;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n\f\v";
  const size_t begin = text.find_first_not_of(kWhite);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kWhite) - begin + 1);
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return out;
}

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') {
      c = static_cast<char>(c - 'a' + 'A');
    }
  }
  return out;
}

std::string_view Cut(std::string_view text, size_t most) {
  if (text.size() <= most) {
    return text;
  }
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (most > 0 && continues(text[most])) {
    --most;
  }
  return text.substr(0, most);
}

Result<bool> ParseBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "FALSE", "false", "False"};
  for (std::string_view word : kTrue) {
    if (text == word) {
      return true;
    }
  }
  for (std::string_view word : kFalse) {
    if (text == word) {
      return false;
    }
  }
  return Fail(ErrorKind::kInvalid, format("\"{}\" is not a boolean", text));
}

Result<long long> ParseInt(std::string_view text) {
  long long value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is not a whole number", text));
  }
  return value;
}

size_t EditDistance(std::string_view left, std::string_view right) {
  // Three rows of the table are needed at a time: this one and the two before.
  const size_t width = right.size() + 1;
  std::vector<size_t> rows(3 * width);
  const auto row = [&rows, width](size_t i) { return rows.data() + i % 3 * width; };
  for (size_t i = 0; i <= left.size(); ++i) {
    size_t* const now = row(i);
    now[0] = i;
    for (size_t j = 1; j < width; ++j) {
      if (i == 0) {
        now[j] = j;
        continue;
      }
      const size_t* const last = row(i - 1);
      const size_t changed = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, changed});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        now[j] = std::min(now[j], row(i - 2)[j - 2] + 1);
      }
    }
  }
  return row(left.size())[right.size()];
}

}  // namespace gantry
