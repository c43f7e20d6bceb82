// SPDX-License-Identifier: Apache-2.0
// What does the YAML file of --config-file say? Each version knows its own keys.
#include "operands/metrics_exporter/yaml_config.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/json_shape.h"
#include "base/text.h"
#include "policy/plugin_config.h"
#include "policy/yaml.h"

namespace gantry::metrics_exporter {
namespace {

using KeyShape = gantry::Shape;
using std::chrono::milliseconds;

constexpr KnownKey kField[] = {
    {"name", KeyShape::kText}, {"prometheusType", KeyShape::kText}, {"help", KeyShape::kText}};
constexpr KnownKey kMetrics[] = {{"file", KeyShape::kText},
                                 {"fields", KeyShape::kMaps, kField},
                                 {"enableExporterMetrics", KeyShape::kFlag}};
constexpr KnownKey kBinding[] = {{"enabled", KeyShape::kFlag}, {"pollInterval", KeyShape::kText}};
constexpr KnownKey kServer[] = {{"maxConcurrentScrapes"}};

constexpr KnownKey kDcgm1[] = {{"detectBindUnbind", KeyShape::kMap, kBinding}};
constexpr KnownKey kSources1[] = {{"dcgm", KeyShape::kMap, kDcgm1}};
constexpr KnownKey kRetention1[] = {{"maxAge", KeyShape::kText}, {"maxSamples"}};
constexpr KnownKey kGroup1[] = {{"name", KeyShape::kText},
                                {"interval", KeyShape::kText},
                                {"fields"},
                                {"retention", KeyShape::kMap, kRetention1}};
constexpr KnownKey kCollection1[] = {{"interval", KeyShape::kText},
                                     {"retention", KeyShape::kMap, kRetention1},
                                     {"watchGroups", KeyShape::kMaps, kGroup1}};
constexpr KnownKey kVersion1[] = {{"version"},
                                  {"sources", KeyShape::kMap, kSources1},
                                  {"metrics", KeyShape::kMap, kMetrics},
                                  {"collection", KeyShape::kMap, kCollection1},
                                  {"server", KeyShape::kMap, kServer}};

constexpr KnownKey kWatch2[] = {{"maxKeepAge", KeyShape::kText}, {"maxKeepSamples"}};
constexpr KnownKey kDcgm2[] = {{"watch", KeyShape::kMap, kWatch2},
                               {"detectBindUnbind", KeyShape::kMap, kBinding}};
constexpr KnownKey kSources2[] = {{"dcgm", KeyShape::kMap, kDcgm2}};
constexpr KnownKey kCollectionDcgm2[] = {{"watch", KeyShape::kMap, kWatch2}};
constexpr KnownKey kCollectionSources2[] = {{"dcgm", KeyShape::kMap, kCollectionDcgm2}};
constexpr KnownKey kInclude2[] = {{"include"}};
constexpr KnownKey kCollection2[] = {{"name", KeyShape::kText},
                                     {"every", KeyShape::kText},
                                     {"metrics", KeyShape::kMap, kInclude2},
                                     {"sources", KeyShape::kMap, kCollectionSources2}};
constexpr KnownKey kVersion2[] = {{"version"},
                                  {"metrics", KeyShape::kMap, kMetrics},
                                  {"collections", KeyShape::kMaps, kCollection2},
                                  {"sources", KeyShape::kMap, kSources2},
                                  {"server", KeyShape::kMap, kServer}};

std::unexpected<Error> Wrong(std::string_view path, std::string_view why) {
  return Fail(ErrorKind::kInvalid, format("{}: {}", path, why));
}

Result<std::string> Required(const Json& map, const std::string& path, const char* key) {
  std::string text(Trim(TextAt(map, key)));
  return text.empty() ? Wrong(format("{}.{}", path, key), "missing") : Result<std::string>(text);
}

Result<milliseconds> ParseInterval(const std::string& text, const std::string& path) {
  const auto duration = policy::ParseDuration(text);
  const auto whole =
      duration ? std::chrono::duration_cast<milliseconds>(*duration) : milliseconds(0);
  if (!duration || whole != *duration || whole <= milliseconds(0) ||
      whole > std::chrono::hours(24)) {
    return Wrong(path, format("\"{}\" is no duration from 1ms to 24h (500ms, 30s, 5m)", text));
  }
  return whole;
}

std::string Quoted(std::string text) {
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '"');
  }
  return format("\"{}\"", text);
}

// A row of a file of counters for each.
Result<std::string> ReadFields(const Json& fields) {
  std::string text;
  std::set<std::string> seen;
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string path = format("metrics.fields[{}]", i);
    TRY_ASSIGN(const std::string name, Required(fields[i], path, "name"));
    TRY_ASSIGN(const std::string type, Required(fields[i], path, "prometheusType"));
    TRY_ASSIGN(const std::string help, Required(fields[i], path, "help"));
    if (!seen.insert(name).second) {
      return Wrong(path + ".name", format("{} is given twice", name));
    }
    text += format("{},{},{}\n", Quoted(name), Quoted(type), Quoted(help));
  }
  return text;
}

Status ReadMetrics(const Json& metrics, YamlConfig& to) {
  const std::string file(Trim(TextAt(metrics, "file")));
  const Json& fields = ListAt(metrics, "fields");
  if (const Json* wanted = At(metrics, "enableExporterMetrics")) {
    to.exporter_metrics = wanted->get<bool>();
  }
  if (!file.empty() && !fields.empty()) {
    return Wrong("metrics", "file and fields are both given");
  }
  if (!file.empty()) {
    to.counters_file = file;
  } else if (!fields.empty()) {
    TRY_ASSIGN(to.counters, ReadFields(fields));
  } else if (!to.exporter_metrics) {
    return Wrong("metrics", "neither file nor fields nor enableExporterMetrics");
  }
  return {};
}

Result<std::vector<std::string>> ReadNames(const Json* list, const std::string& path) {
  if (list == nullptr || !list->is_array() || list->empty()) {
    return Wrong(path, "not a list of names");
  }
  std::vector<std::string> names;
  for (const Json& name : *list) {
    if (!name.is_string() || Trim(name.get<std::string>()).empty()) {
      return Wrong(path, "a name is not a string");
    }
    names.emplace_back(Trim(name.get<std::string>()));
  }
  return names;
}

// The groups of version 1, the collections of version 2.
struct GroupKeys {
  const char* list;
  const char* interval;
  const char* names;
};

Status ReadGroups(const Json& document, const GroupKeys& keys, YamlConfig& to) {
  std::set<std::string> seen;
  const Json& groups = ListAt(document, keys.list);
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string path = format("{}[{}]", keys.list, i);
    TRY_ASSIGN(const std::string name, Required(groups[i], path, "name"));
    if (!seen.insert(name).second) {
      return Wrong(path + ".name", format("{} is given twice", name));
    }
    TRY_ASSIGN(const std::string text, Required(groups[i], path, keys.interval));
    TRY_ASSIGN(const milliseconds interval,
               ParseInterval(text, format("{}.{}", path, keys.interval)));
    TRY_ASSIGN(std::vector<std::string> names,
               ReadNames(At(groups[i], keys.names), format("{}.{}", path, keys.names)));
    to.groups.push_back({.path = path, .interval = interval, .fields = std::move(names)});
  }
  return {};
}

// The collection of all fields says how often those are read that are in no other.
Status TakeDefault(YamlConfig& to) {
  const auto all = [](const WatchGroup& group) {
    return group.fields == std::vector<std::string>{"*"};
  };
  const auto found = std::ranges::find_if(to.groups, all);
  if (found == to.groups.end()) {
    return {};
  }
  to.interval = found->interval;
  to.groups.erase(found);
  const auto second = std::ranges::find_if(to.groups, all);
  return second == to.groups.end()
             ? Status()
             : Wrong(second->path + ".metrics.include", "another collection has all fields");
}

Status CheckVersionOne(const Json& document, YamlConfig& to) {
  if (const std::string text(Trim(TextAt(document, "collection.interval"))); !text.empty()) {
    TRY_ASSIGN(to.interval, ParseInterval(text, "collection.interval"));
  }
  return ReadGroups(
      document, {.list = "collection.watchGroups", .interval = "interval", .names = "fields"}, to);
}

Status CheckVersionTwo(const Json& document, YamlConfig& to) {
  if (At(document, "collections") != nullptr && ListAt(document, "collections").empty()) {
    return Wrong("collections", "empty");
  }
  TRY(ReadGroups(document, {.list = "collections", .interval = "every", .names = "metrics.include"},
                 to));
  return TakeDefault(to);
}

bool Matches(const WatchGroup& group, const Field& field, const std::string& name) {
  return std::ranges::any_of(group.fields, [&](const std::string& pattern) {
    return std::ranges::any_of(
        std::initializer_list<const std::string*>{&name, &field.name, &field.other},
        [&](const std::string* one) {
          return !one->empty() && ::fnmatch(pattern.c_str(), one->c_str(), 0) == 0;
        });
  });
}

}  // namespace

Result<YamlConfig> ParseYamlConfig(std::string_view text) {
  TRY_ASSIGN(Json document, policy::ParseYaml(text));
  if (!document.is_object()) {
    return Wrong("the file", "not a map");
  }
  const long long version = IntAt(document, "version", 0);
  if (version != 1 && version != 2) {
    return Wrong("version", "not 1 or 2");
  }
  TRY_ASSIGN(const std::vector<std::string> unknown,
             Conform(document, version == 1 ? std::span<const KnownKey>(kVersion1) : kVersion2));
  if (!unknown.empty()) {
    return Wrong(unknown.front(), format("unknown key in version {}", version));
  }
  YamlConfig config;
  if (const Json* metrics = At(document, "metrics")) {
    TRY(ReadMetrics(*metrics, config));
  }
  for (const char* key : {"sources", "server", "collection.retention"}) {
    if (At(document, key) != nullptr) {
      config.no_effect.emplace_back(key);
    }
  }
  TRY(version == 1 ? CheckVersionOne(document, config) : CheckVersionTwo(document, config));
  return config;
}

Status CheckGroups(const std::vector<WatchGroup>& groups, const Counters& counters) {
  std::map<std::string, std::string> taken;  // counter -> path of its group
  for (const WatchGroup& group : groups) {
    bool found = false;
    for (const auto* list : {&counters.metrics, &counters.labels}) {
      for (const Counter& counter : *list) {
        if (!Matches(group, counter.field, counter.name)) {
          continue;
        }
        found = true;
        if (const auto [other, is_new] = taken.emplace(counter.name, group.path); !is_new) {
          return Wrong(group.path, format("{} is in {} too", counter.name, other->second));
        }
      }
    }
    if (!found) {
      return Wrong(group.path, format("none of the counters is {}", Join(group.fields, ", ")));
    }
  }
  return {};
}

}  // namespace gantry::metrics_exporter
