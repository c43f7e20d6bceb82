// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

// Reading YAML maps by tables of their keys: a key that stands twice and a value of the wrong type
// are kInvalid, and the message begins with the path ("sharing.mps"). yaml-cpp's exceptions are
// left to the caller.
namespace gantry::policy {

using ReadValue = std::function<Status(const YAML::Node& node, const std::string& path)>;
struct YamlKey {
  std::string_view name;
  ReadValue read;
};

// "path: reason".
std::unexpected<Error> Wrong(const std::string& path, std::string_view reason);
std::string KeyPath(const std::string& path, std::string_view key);

// A null value, of the map or of a key, counts as absent. As for Go's decoder, upper and lower case
// of a key are one, and an unknown key is passed over; `warnings` gets a sentence on it. A map has
// the keys of those that it merges ("<<") below its own.
Status ReadMap(const YAML::Node& node, const std::string& path, const std::vector<YamlKey>& keys,
               std::vector<std::string>& warnings);
// Calls read for each element of a list.
Status ReadList(const YAML::Node& node, const std::string& path, const ReadValue& read);

Result<std::string> Text(const YAML::Node& node, const std::string& path);
Result<bool> Bool(const YAML::Node& node, const std::string& path);
// However a number is written: 60000000000 is 6e10, 4 is 4.0.
Result<double> Number(const YAML::Node& node, const std::string& path);
Result<int> Int(const YAML::Node& node, const std::string& path);
Result<std::vector<int>> Ints(const YAML::Node& node, const std::string& path);
Result<std::string> OneOf(std::string_view text, std::initializer_list<std::string_view> words);

// A reader that stores what `parse` (Text, Bool, Int) reads.
template <typename Target, typename Value>
ReadValue Into(Target& target, Result<Value> (*parse)(const YAML::Node&, const std::string&)) {
  return [&target, parse](const YAML::Node& node, const std::string& path) -> Status {
    TRY_ASSIGN(target, parse(node, path));
    return {};
  };
}

// The same for a string that only some words are allowed for.
template <typename Value>
ReadValue IntoWord(std::optional<Value>& target, Result<Value> (*parse)(std::string_view)) {
  return [&target, parse](const YAML::Node& node, const std::string& path) -> Status {
    TRY_ASSIGN(const std::string text, Text(node, path));
    Result<Value> value = parse(text);
    if (!value.has_value()) {
      return Wrong(path, value.error().message);
    }
    target = *std::move(value);
    return {};
  };
}

}  // namespace gantry::policy
