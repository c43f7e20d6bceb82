// SPDX-License-Identifier: Apache-2.0
// How is a YAML map read so that mistakes are reported? Each value is read by key and type;
// yaml-cpp itself keeps the last of two equal keys, turns a quoted "4" into a number, and leaves
// merge keys to its caller.
#include "policy/yaml_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.h"

namespace gantry::policy {
namespace {

bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!"; }

bool IsMerge(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<" && !IsQuoted(key);
}

// One map with the maps that it merges.
class MapReader {
 public:
  MapReader(const std::string& path, const std::vector<YamlKey>& keys,
            std::vector<std::string>& warnings)
      : path_(path), keys_(keys), warnings_(warnings) {}

  Status Read(const YAML::Node& map) {
    TRY(ReadOwn(map));
    for (const auto& entry : map) {
      if (IsMerge(entry.first)) {
        TRY(Merge(entry.second));
      }
    }
    return {};
  }

 private:
  // A map may merge itself, and nine lines can merge a billion.
  static constexpr int kMostMerged = 64;

  Status ReadOwn(const YAML::Node& map) {
    std::set<std::string_view> own;
    for (const auto& entry : map) {
      if (IsMerge(entry.first)) {
        continue;
      }
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
      const std::string at = KeyPath(path_, name);
      const auto key = std::ranges::find_if(
          keys_, [&name](const YamlKey& one) { return Lower(one.name) == Lower(name); });
      if (key == keys_.end()) {
        warnings_.push_back(format("{}: unknown key, has no effect", at));
        continue;
      }
      if (!own.insert(key->name).second) {
        return Wrong(at, "occurs twice");
      }
      if (!read_.contains(key->name) && !entry.second.IsNull()) {
        TRY(key->read(entry.second, at));
      }
    }
    read_.merge(own);
    return {};
  }

  Status Merge(const YAML::Node& value) {
    const std::string at = KeyPath(path_, "<<");
    if (value.IsSequence()) {
      return ReadList(value, at, [this](const YAML::Node& item, const std::string& where) {
        return MergeOne(item, where);
      });
    }
    return MergeOne(value, at);
  }

  Status MergeOne(const YAML::Node& map, const std::string& at) {
    if (!map.IsMap()) {
      return Wrong(at, "must be a map or a list of maps");
    }
    if (++merged_ > kMostMerged) {
      return Wrong(at, format("merges more than {} maps", kMostMerged));
    }
    return Read(map);
  }

  const std::string& path_;
  const std::vector<YamlKey>& keys_;
  std::vector<std::string>& warnings_;
  std::set<std::string_view> read_;  // names in keys_
  int merged_ = 0;
};

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

Result<double> Number(const YAML::Node& node, const std::string& path) {
  double value = 0;
  if (!node.IsScalar() || IsQuoted(node) || !YAML::convert<double>::decode(node, value)) {
    return Wrong(path, "must be a number");
  }
  return value;
}

Result<int> Int(const YAML::Node& node, const std::string& path) {
  int value = 0;
  if (node.IsScalar() && !IsQuoted(node) && YAML::convert<int>::decode(node, value)) {
    return value;
  }
  const Result<double> number = Number(node, path);
  if (!number.has_value() || *number != std::trunc(*number) ||
      std::abs(*number) > std::numeric_limits<int>::max()) {
    return Wrong(path, "must be a whole number");
  }
  return static_cast<int>(*number);
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

Status ReadMap(const YAML::Node& node, const std::string& path, const std::vector<YamlKey>& keys,
               std::vector<std::string>& warnings) {
  if (node.IsNull()) {
    return {};
  }
  if (!node.IsMap()) {
    return Wrong(path.empty() ? "configuration" : path, "must be a map");
  }
  return MapReader(path, keys, warnings).Read(node);
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
