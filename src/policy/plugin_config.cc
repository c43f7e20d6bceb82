// SPDX-License-Identifier: Apache-2.0
// What does a device plugin configuration say? The schema is upstream's. Keys that upstream accepts
// without effect (resources, rename, unknown keys) are accepted here too, with a warning, so that a
// file need not change. A duplicate key is an error: it is ambiguous. Each map is read by a table
// of its keys; yaml-cpp's exceptions end in ParsePluginConfig.
#include "policy/plugin_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "policy/plugin_config_sharing.h"
#include "policy/yaml_map.h"

namespace gantry::policy {
namespace {

using std::chrono::nanoseconds;

Result<std::string> ParseIdStrategy(std::string_view text) {
  return OneOf(text, {"uuid", "index"});
}
Result<std::string> ParseAllocationPolicy(std::string_view text) {
  return OneOf(text, {"distributed", "packed"});
}

Result<std::vector<std::string>> ListStrategy(const YAML::Node& node, const std::string& path) {
  std::vector<std::string> words;
  if (node.IsScalar()) {
    words = Split(node.Scalar(), ',');
  } else {
    TRY(ReadList(node, path, [&](const YAML::Node& item, const std::string& at) -> Status {
      TRY_ASSIGN(std::string word, Text(item, at));
      words.push_back(std::move(word));
      return {};
    }));
  }
  for (const std::string& word : words) {
    if (auto known = OneOf(word, {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"});
        !known.has_value()) {
      return Wrong(path, known.error().message);
    }
  }
  return words;
}

Result<nanoseconds> Duration(const YAML::Node& node, const std::string& path) {
  TRY_ASSIGN(const std::string text, Text(node, path));
  Result<nanoseconds> value = ParseDuration(text);
  if (value.has_value()) {
    return value;
  }
  const Result<double> number = Number(node, path);
  if (number.has_value() && std::abs(*number) < static_cast<double>(nanoseconds::max().count())) {
    return nanoseconds(static_cast<nanoseconds::rep>(*number));
  }
  return Wrong(path, value.error().message);
}

Status ReadFlags(const YAML::Node& node, const std::string& path, PluginConfig& config) {
  PluginFlags& flags = config.flags;
  const ReadValue plugin = [&](const YAML::Node& map, const std::string& at) {
    return ReadMap(map, at,
                   {{"passDeviceSpecs", Into(flags.pass_device_specs, Bool)},
                    {"deviceListStrategy", Into(flags.device_list_strategy, ListStrategy)},
                    {"deviceIDStrategy", IntoWord(flags.device_id_strategy, ParseIdStrategy)},
                    {"cdiAnnotationPrefix", Into(flags.cdi_annotation_prefix, Text)},
                    {"nvidiaCTKPath", Into(flags.ctk_path, Text)},
                    {"containerDriverRoot", Into(flags.container_driver_root, Text)},
                    {"sharedDevicesAllocationPolicy",
                     IntoWord(flags.shared_devices_allocation_policy, ParseAllocationPolicy)}},
                   config.warnings);
  };
  const ReadValue gfd = [&](const YAML::Node& map, const std::string& at) {
    return ReadMap(map, at,
                   {{"oneshot", Into(flags.gfd.oneshot, Bool)},
                    {"noTimestamp", Into(flags.gfd.no_timestamp, Bool)},
                    {"sleepInterval", Into(flags.gfd.sleep_interval, Duration)},
                    {"outputFile", Into(flags.gfd.output_file, Text)},
                    {"machineTypeFile", Into(flags.gfd.machine_type_file, Text)}},
                   config.warnings);
  };
  return ReadMap(
      node, path,
      {{"migStrategy", IntoWord(flags.mig_strategy, ParseMigStrategy)},
       {"failOnInitError", Into(flags.fail_on_init_error, Bool)},
       {"mpsRoot", Into(flags.mps_root, Text)},
       {"nvidiaDriverRoot", Into(flags.driver_root, Text)},
       {"nvidiaDevRoot", Into(flags.dev_root, Text)},
       {"gdrcopyEnabled", Into(flags.gdrcopy_enabled, Bool)},
       {"gdsEnabled", Into(flags.gds_enabled, Bool)},
       {"mofedEnabled", Into(flags.mofed_enabled, Bool)},
       {"useNodeFeatureAPI", Into(flags.use_node_feature_api, Bool)},
       {"deviceDiscoveryStrategy", IntoWord(flags.device_discovery, ParseDeviceDiscovery)},
       {"plugin", plugin},
       {"gfd", gfd}},
      config.warnings);
}

Status ReadPatterns(const YAML::Node& node, const std::string& path,
                    std::vector<std::string>& warnings) {
  const ReadValue entry = [&warnings](const YAML::Node& map, const std::string& at) -> Status {
    std::string pattern;
    std::string name;
    TRY(ReadMap(map, at, {{"pattern", Into(pattern, Text)}, {"name", Into(name, ResourceName)}},
                warnings));
    if (pattern.empty() || name.empty()) {
      return Wrong(KeyPath(at, pattern.empty() ? "pattern" : "name"), "is required");
    }
    return {};
  };
  const ReadValue list = [&](const YAML::Node& value, const std::string& at) {
    return ReadList(value, at, entry);
  };
  return ReadMap(node, path, {{"gpus", list}, {"mig", list}}, warnings);
}

Status ReadImex(const YAML::Node& node, const std::string& path, PluginConfig& config) {
  const ReadValue channels = [&](const YAML::Node& list, const std::string& at) -> Status {
    TRY_ASSIGN(config.imex_channel_ids, Ints(list, at));
    if (!config.imex_channel_ids.empty() && config.imex_channel_ids != std::vector<int>{0}) {
      return Wrong(at, "must be [] or [0]");
    }
    return {};
  };
  return ReadMap(node, path,
                 {{"channelIDs", channels}, {"required", Into(config.imex_required, Bool)}},
                 config.warnings);
}

Status ReadHealth(const YAML::Node& node, const std::string& path, PluginConfig& config) {
  XidRules& rules = config.xids;
  std::set<int> seen;
  const auto list = [&seen](std::vector<int>& into) {
    return [&seen, &into](const YAML::Node& items, const std::string& at) -> Status {
      TRY_ASSIGN(into, Ints(items, at));
      for (const int xid : into) {
        if (xid <= 0) {
          return Wrong(at, format("{} is no XID", xid));
        }
        if (!seen.insert(xid).second) {
          return Wrong(at, format("{} occurs twice under xids", xid));
        }
      }
      return {};
    };
  };
  const ReadValue xids = [&](const YAML::Node& map, const std::string& at) {
    return ReadMap(map, at,
                   {{"ignore", list(rules.ignore)},
                    {"suspect", list(rules.suspect)},
                    {"unhealthy", list(rules.unhealthy)}},
                   config.warnings);
  };
  return ReadMap(node, path, {{"xids", xids}}, config.warnings);
}

Result<PluginConfig> Read(const YAML::Node& root) {
  PluginConfig config;
  const ReadValue version = [](const YAML::Node& node, const std::string& path) -> Status {
    if (!node.IsScalar() || node.Scalar() != "v1") {
      return Wrong(path, "must be v1");
    }
    return {};
  };
  const ReadValue resources = [&](const YAML::Node& node, const std::string& path) -> Status {
    TRY(ReadPatterns(node, path, config.warnings));
    config.warnings.push_back("resources: has no effect, resources cannot be renamed");
    return {};
  };
  const auto part = [&config](auto read) -> ReadValue {
    return [&config, read](const YAML::Node& node, const std::string& path) {
      return read(node, path, config);
    };
  };
  TRY(ReadMap(root, "",
              {{"version", version},
               {"flags", part(ReadFlags)},
               {"resources", resources},
               {"sharing", part(ReadSharing)},
               {"imex", part(ReadImex)},
               {"health", part(ReadHealth)}},
              config.warnings));
  return config;
}

}  // namespace

std::string_view Name(MigStrategy strategy) {
  switch (strategy) {
    case MigStrategy::kNone:
      return "none";
    case MigStrategy::kSingle:
      return "single";
    case MigStrategy::kMixed:
      return "mixed";
  }
  return "none";
}

std::string_view Name(SharingStrategy strategy) {
  switch (strategy) {
    case SharingStrategy::kNone:
      return "none";
    case SharingStrategy::kTimeSlicing:
      return "time-slicing";
    case SharingStrategy::kMps:
      return "mps";
  }
  return "none";
}

Result<MigStrategy> ParseMigStrategy(std::string_view text) {
  TRY(OneOf(text, {"none", "single", "mixed"}));
  return text == "none"     ? MigStrategy::kNone
         : text == "single" ? MigStrategy::kSingle
                            : MigStrategy::kMixed;
}

Result<DeviceDiscovery> ParseDeviceDiscovery(std::string_view text) {
  TRY(OneOf(text, {"auto", "nvml", "tegra", "vfio"}));
  return text == "auto"    ? DeviceDiscovery::kAuto
         : text == "nvml"  ? DeviceDiscovery::kNvml
         : text == "tegra" ? DeviceDiscovery::kTegra
                           : DeviceDiscovery::kVfio;
}

Result<nanoseconds> ParseDuration(std::string_view text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1},   {"us", 1e3}, {"µs", 1e3},     {"μs", 1e3},
      {"ms", 1e6}, {"s", 1e9},  {"m", 60 * 1e9}, {"h", 3600 * 1e9}};
  const auto wrong = [text] {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is no duration (60s, 1m30s, infinite)", text));
  };
  if (text == "infinite") {
    return nanoseconds::max();
  }
  if (const Result<long long> number = ParseInt(text); number.has_value()) {
    return nanoseconds(*number);
  }
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  rest.remove_prefix(negative || rest.starts_with('+') ? 1 : 0);
  if (rest.empty()) {
    return wrong();
  }
  double total = 0;
  while (!rest.empty()) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || rest.front() == '-') {
      return wrong();
    }
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const std::string_view unit = rest.substr(0, rest.find_first_of("0123456789."));
    const auto* known =
        std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
    if (known == std::end(kUnits)) {
      return wrong();
    }
    total += value * known->second;
    rest.remove_prefix(unit.size());
  }
  if (total >= static_cast<double>(nanoseconds::max().count())) {
    return wrong();
  }
  return nanoseconds(static_cast<nanoseconds::rep>(negative ? -total : total));
}

Result<PluginConfig> ParsePluginConfig(std::string_view text) {
  try {
    return Read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& exception) {
    return Fail(ErrorKind::kInvalid, format("line {}, column {}: {}", exception.mark.line + 1,
                                            exception.mark.column + 1, exception.msg));
  }
}

}  // namespace gantry::policy
