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

// Reads YAML maps by tables of their keys. A duplicate key and a value of the wrong type are
// kInvalid, and the message begins with the path ("sharing.mps"). The caller handles yaml-cpp's
// exceptions.
namespace gantry::policy {

using ReadValue = std::function<Status(const YAML::Node& node, const std::string& path)>;
struct YamlKey {
  std::string_view name;
  ReadValue read;
};

// "path: reason".
std::unexpected<Error> Wrong(const std::string& path, std::string_view reason);
std::string KeyPath(const std::string& path, std::string_view key);

// A null value, of the map or of a key, counts as absent. As in Go's decoder, the case of keys does
// not matter, and an unknown key is ignored, with a sentence in `warnings`. A map's own keys
// override those it merges ("<<").
Status ReadMap(const YAML::Node& node, const std::string& path, const std::vector<YamlKey>& keys,
               std::vector<std::string>& warnings);
// Calls read for each element of a list.
Status ReadList(const YAML::Node& node, const std::string& path, const ReadValue& read);

Result<std::string> Text(const YAML::Node& node, const std::string& path);
Result<bool> Bool(const YAML::Node& node, const std::string& path);
// A number in any notation: 60000000000 is 6e10, 4 is 4.0.
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

// The same for a string from a list of allowed values.
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
