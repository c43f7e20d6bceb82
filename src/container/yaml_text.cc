// SPDX-License-Identifier: Apache-2.0
// How are CDI documents in YAML read and written? NVIDIA's nvidia-ctk writes
// /var/run/cdi/nvidia.yaml. yaml-cpp reads it, and its exceptions end here. Writing does not use
// its emitter, which does not quote what a reader of YAML 1.1 takes for a number ("0:1" is 1 in
// base 60).
#include "container/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace gantry::container {
namespace {

constexpr size_t kMostText = size_t{4} << 20;
constexpr int kMostNodes = 200000;  // aliases can expand a small file
constexpr int kDeepest = 64;
constexpr size_t kLongestKey = 1024;  // without an indicator of its own (YAML 1.2, 7.4)

// A whole number in the notations of YAML 1.1 and Go: 438, 0666, 0o666, 0x1B6, 0b110; null if it is
// not one.
Json Number(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative || text.starts_with('+') ? 1 : 0);
  int base = 10;
  if (digits.size() > 1 && digits.front() == '0') {
    const char letter = digits[1];
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    digits.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value, base);
  if (read.ec != std::errc() || read.ptr != end || (negative && value > INT64_MAX)) {
    return nullptr;
  }
  return negative ? Json(-static_cast<int64_t>(value)) : Json(value);
}

Json Scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") {
    return text;  // quoted
  }
  if (text == "null" || text == "~" || text.empty()) {
    return nullptr;
  }
  if (text == "true" || text == "false") {
    return text == "true";
  }
  Json number = Number(text);
  return number.is_null() ? Json(text) : number;
}

// nullopt: too large or too deep.
std::optional<Json> Convert(const YAML::Node& node, int& budget, int depth) {
  if (--budget < 0 || depth > kDeepest) {
    return std::nullopt;
  }
  if (node.IsScalar()) {
    return Scalar(node);
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& entry : node) {
      auto value = Convert(entry, budget, depth + 1);
      if (!value) {
        return std::nullopt;
      }
      list.push_back(*std::move(value));
    }
    return list;
  }
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& entry : node) {
      auto value = Convert(entry.second, budget, depth + 1);
      if (!value || !entry.first.IsScalar()) {
        return std::nullopt;
      }
      object[entry.first.Scalar()] = *std::move(value);
    }
    return object;
  }
  return Json(nullptr);
}

bool PlainText(std::string_view text) {
  constexpr std::array<std::string_view, 10> kWords = {"null", "true", "false", "yes", "no",
                                                       "on",   "off",  "y",     "n",   "~"};
  constexpr std::string_view kAlways =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-=,;@+%";
  if (text.empty() || text.find_first_not_of(kAlways) != std::string_view::npos ||
      std::ranges::find(kWords, Lower(text)) != kWords.end()) {
    return false;
  }
  // Everything that starts like a number, a sign or an indicator.
  const char first = text.front();
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '/';
}

std::string Quoted(const std::string& text) {
  if (PlainText(text)) {
    return text;
  }
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// `at`: the column of the block; `inline_first`: its first line follows "- ".
void Emit(const Json& json, size_t at, bool inline_first, std::string& out) {
  const std::string indent(at, ' ');
  bool first = inline_first;
  const auto start = [&] {
    out += first ? "" : indent;
    first = false;
  };
  const auto value = [&](const Json& child, size_t deeper) {
    const bool block = (child.is_object() || child.is_array()) && !child.empty();
    if (!block) {
      const std::string text = child.is_string() ? Quoted(child.get<std::string>())
                               : child.is_object() || child.is_array()
                                   ? (child.is_object() ? "{}" : "[]")
                                   : child.dump();
      out += " " + text + "\n";
      return;
    }
    out += "\n";
    Emit(child, deeper, false, out);
  };
  if (json.is_array()) {
    for (const Json& entry : json) {
      start();
      out += "-";
      if (entry.is_object() && !entry.empty()) {
        out += " ";
        Emit(entry, at + 2, true, out);
      } else {
        value(entry, at + 2);
      }
    }
    return;
  }
  for (const auto& [key, child] : json.items()) {
    start();
    const std::string text = Quoted(key);
    out += text.size() > kLongestKey ? "? " + text + "\n" + indent + ":" : text + ":";
    value(child, child.is_array() ? at : at + 2);
  }
}

}  // namespace

Result<Json> ParseYaml(std::string_view text) {
  if (text.size() > kMostText) {
    return Fail(ErrorKind::kInvalid, "read yaml: more than 4 MiB");
  }
  try {
    int budget = kMostNodes;
    auto json = Convert(YAML::Load(std::string(text)), budget, 0);
    if (!json) {
      return Fail(ErrorKind::kInvalid, "read yaml: too large, too deep, or a key is not a string");
    }
    return *std::move(json);
  } catch (const YAML::Exception& error) {
    return Fail(ErrorKind::kInvalid,
                format("read yaml line {}: {}", error.mark.line + 1, error.msg));
  }
}

std::string YamlText(const Json& json) {
  std::string out = "---\n";
  if (json.is_structured() && !json.empty()) {
    Emit(json, 0, false, out);
  } else {
    out += (json.is_string() ? Quoted(json.get<std::string>()) : json.dump()) + "\n";
  }
  return out;
}

}  // namespace gantry::container
