// SPDX-License-Identifier: Apache-2.0
// What does YAML say, as JSON? For configurations that are read generically. Aliases are expanded,
// so the number of values is bounded: nine lines of YAML can expand to a billion.
#include "policy/yaml.h"

#include <yaml-cpp/yaml.h>

#include "base/text.h"

namespace gantry::policy {
namespace {

constexpr int kMostValues = 100'000;
constexpr int kDeepest = 64;

Json Scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") {  // quoted
    return text;
  }
  if (text == "true" || text == "false") {
    return text == "true";
  }
  if (text.empty() || text == "~" || text == "null") {
    return nullptr;
  }
  const Result<long long> number = ParseInt(text);
  // A number in YAML 1.2 has no leading zero, and "0b40" or "02" are PCI classes.
  const bool plain = number.has_value() && (text == "0" || text.front() != '0');
  return plain ? Json(*number) : Json(text);
}

class Converter {
 public:
  Result<Json> Convert(const YAML::Node& node, int depth) {
    if (++values_ > kMostValues || depth > kDeepest) {
      return Fail(ErrorKind::kInvalid, "read YAML: too many values or levels");
    }
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return Scalar(node);
      case YAML::NodeType::Sequence: {
        Json list = Json::array();
        for (const YAML::Node& element : node) {
          TRY_ASSIGN(list.emplace_back(), Convert(element, depth + 1));
        }
        return list;
      }
      case YAML::NodeType::Map: {
        Json map = Json::object();
        TRY(ConvertMap(node, depth, map));
        return map;
      }
      default:
        return Json();
    }
  }

 private:
  Status ConvertMap(const YAML::Node& node, int depth, Json& map) {
    std::vector<YAML::Node> merged;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        return Fail(ErrorKind::kInvalid, "read YAML: a key is not a string");
      }
      const std::string& key = entry.first.Scalar();
      if (key == "<<" && entry.first.Tag() != "!") {
        merged.push_back(entry.second);
        continue;
      }
      if (map.contains(key)) {
        const YAML::Mark at = entry.first.Mark();
        return Fail(ErrorKind::kInvalid,
                    format("read YAML: line {}, column {}: the key \"{}\" occurs twice",
                           at.line + 1, at.column + 1, key));
      }
      TRY_ASSIGN(map[key], Convert(entry.second, depth + 1));
    }
    for (const YAML::Node& maps : merged) {
      TRY_ASSIGN(const Json below, Convert(maps, depth + 1));
      TRY(Merge(below, map));
    }
    return {};
  }

  // "<<: *a", or a list of such maps: existing keys win.
  static Status Merge(const Json& below, Json& map) {
    for (const Json& one : below.is_array() ? below : Json::array({below})) {
      if (!one.is_object()) {
        return Fail(ErrorKind::kInvalid, "read YAML: \"<<\" must be a map or a list of maps");
      }
      for (const auto& [key, value] : one.items()) {
        map.emplace(key, value);
      }
    }
    return {};
  }

  int values_ = 0;
};

// The start of the next document: a line with the marker counts anywhere, even in a string.
// (YAML::LoadAll ends at the first empty document.)
size_t NextDocument(std::string_view text, size_t from) {
  constexpr std::string_view kMarker = "\n---";
  for (size_t at = text.find(kMarker, from); at != std::string_view::npos;
       at = text.find(kMarker, at + 1)) {
    const size_t after = at + kMarker.size();
    if (after == text.size() || std::string_view(" \t\r\n").contains(text[after])) {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

Result<Json> ParseYaml(std::string_view text) {
  try {
    return Converter().Convert(YAML::Load(std::string(text)), 0);
  } catch (const YAML::Exception& exception) {
    return Fail(ErrorKind::kInvalid, format("read YAML: {}", exception.what()));
  }
}

Result<std::vector<Json>> ParseYamlDocuments(std::string_view text) {
  std::vector<Json> documents;
  for (size_t from = 0; from < text.size();) {
    const size_t end = NextDocument(text, from);
    TRY_ASSIGN(documents.emplace_back(), ParseYaml(text.substr(from, end - from)));
    from = end;
  }
  return documents;
}

}  // namespace gantry::policy
