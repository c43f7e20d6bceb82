// SPDX-License-Identifier: Apache-2.0
// Which keys of a document does its reader not know? A silently ignored key is a setting, or a
// condition, that its author believes to have effect.
#include "base/json_shape.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace gantry {
namespace {

std::unexpected<Error> Wrong(const std::string& path, std::string_view reason) {
  return Fail(ErrorKind::kInvalid, format("{}: {}", path.empty() ? "configuration" : path, reason));
}

std::optional<bool> Flag(const Json& json) {
  if (json.is_boolean()) {
    return json.get<bool>();
  }
  const std::string word = json.is_string() ? Lower(json.get<std::string>()) : "";
  if (word == "true" || word == "yes" || word == "on" || word == "y") {
    return true;
  }
  if (word == "false" || word == "no" || word == "off" || word == "n") {
    return false;
  }
  return std::nullopt;
}

class Reader {
 public:
  std::vector<std::string> unknown;

  Status Map(Json& map, std::span<const KnownKey> keys, const std::string& path) {
    if (!map.is_object()) {
      return Wrong(path, "must be a map");
    }
    Json read = Json::object();
    for (const auto& [name, value] : map.items()) {
      const std::string at = path.empty() ? name : format("{}.{}", path, name);
      const auto key = std::ranges::find_if(
          keys, [&name](const KnownKey& one) { return Lower(one.name) == Lower(name); });
      if (key == keys.end()) {
        unknown.push_back(at);
        continue;
      }
      const std::string spelled(key->name);
      if (read.contains(spelled) || (name != spelled && map.contains(spelled))) {
        return Wrong(at, "occurs twice");
      }
      if (!value.is_null()) {
        TRY(Value(value, *key, at));
        read[spelled] = std::move(value);
      }
    }
    map = std::move(read);
    return {};
  }

 private:
  Status Value(Json& value, const KnownKey& key, const std::string& at) {
    switch (key.shape) {
      case Shape::kAny:
        return {};
      case Shape::kFlag: {
        const std::optional<bool> flag = Flag(value);
        if (!flag.has_value()) {
          return Wrong(at, "must be true or false");
        }
        value = *flag;
        return {};
      }
      case Shape::kText:
        if (value.is_structured()) {
          return Wrong(at, "must be a text");
        }
        if (!value.is_string()) {
          value = value.dump();
        }
        return {};
      case Shape::kMap:
        return Map(value, key.below, at);
      case Shape::kMaps:
        return Maps(value, key.below, at);
    }
    return {};
  }

  Status Maps(Json& list, std::span<const KnownKey> keys, const std::string& path) {
    if (!list.is_array()) {
      return Wrong(path, "must be a list");
    }
    for (size_t i = 0; i < list.size(); ++i) {
      TRY(Map(list[i], keys, format("{}[{}]", path, i)));
    }
    return {};
  }
};

}  // namespace

Result<std::vector<std::string>> Conform(Json& map, std::span<const KnownKey> keys,
                                         const std::string& path) {
  Reader reader;
  TRY(reader.Map(map, keys, path));
  return std::move(reader.unknown);
}

std::vector<std::string> WithoutEffect(const std::vector<std::string>& unknown) {
  std::vector<std::string> sentences;
  sentences.reserve(unknown.size());
  for (const std::string& path : unknown) {
    sentences.push_back(format("{}: unknown key, has no effect", path));
  }
  return sentences;
}

}  // namespace gantry
