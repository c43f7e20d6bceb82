// SPDX-License-Identifier: Apache-2.0
// How is a YAML map read so that a mistake in it is told rather than passed over? Each value is
// asked for by key and type; yaml-cpp itself keeps the last of two equal keys and turns a quoted
// "4" into a number.
#include "policy/yaml_map.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace gantry::policy {
namespace {

bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!"; }

}  // namespace

std::unexpected<Error> Wrong(const std::string& path, std::string_view reason) {
  return Fail(ErrorKind::kInvalid, format("{}: {}", path, reason));
}

std::string KeyPath(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : format("{}.{}", path, key);
}

Result<std::string> Text(const YAML::Node& node, const std::string& path) {
  if (!node.IsScalar()) {
    return Wrong(path, "must be a string");
  }
  return node.Scalar();
}

Result<bool> Bool(const YAML::Node& node, const std::string& path) {
  bool value = false;
  if (!node.IsScalar() || IsQuoted(node) || !YAML::convert<bool>::decode(node, value)) {
    return Wrong(path, "must be true or false");
  }
  return value;
}

Result<int> Int(const YAML::Node& node, const std::string& path) {
  int value = 0;
  if (!node.IsScalar() || IsQuoted(node) || !YAML::convert<int>::decode(node, value)) {
    return Wrong(path, "must be a whole number");
  }
  return value;
}

Result<std::vector<int>> Ints(const YAML::Node& node, const std::string& path) {
  std::vector<int> numbers;
  TRY(ReadList(node, path, [&](const YAML::Node& item, const std::string& at) -> Status {
    TRY_ASSIGN(const int number, Int(item, at));
    numbers.push_back(number);
    return {};
  }));
  return numbers;
}

Status ReadMap(const YAML::Node& node, const std::string& path, const std::vector<YamlKey>& keys) {
  if (node.IsNull()) {
    return {};
  }
  if (!node.IsMap()) {
    return Wrong(path.empty() ? "configuration" : path, "must be a map");
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    const std::string at = KeyPath(path, name);
    const auto key = std::ranges::find(keys, name, &YamlKey::name);
    if (key == keys.end()) {
      return Wrong(at, "unknown key");
    }
    if (!seen.insert(name).second) {
      return Wrong(at, "stands twice");
    }
    if (!entry.second.IsNull()) {
      TRY(key->read(entry.second, at));
    }
  }
  return {};
}

Status ReadList(const YAML::Node& node, const std::string& path, const ReadValue& read) {
  if (!node.IsSequence()) {
    return Wrong(path, "must be a list");
  }
  for (size_t i = 0; i < node.size(); ++i) {
    TRY(read(node[i], format("{}[{}]", path, i)));
  }
  return {};
}

Result<std::string> OneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  if (std::ranges::find(words, text) != words.end()) {
    return std::string(text);
  }
  std::string list;
  for (const std::string_view word : words) {
    list += format("{}{}", list.empty() ? "" : ", ", word);
  }
  return Fail(ErrorKind::kInvalid, format("must be one of {}, is \"{}\"", list, text));
}

}  // namespace gantry::policy
