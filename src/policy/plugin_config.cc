// SPDX-License-Identifier: Apache-2.0
// What does a device plugin configuration say? The schema is upstream's; the reading is stricter: a
// key that nobody knows or that stands twice is an error, because a misspelt `replicas` that is
// silently left out turns 32 GPUs back into 8. What upstream's reader accepts without effect
// (resources, rename, devices) is accepted here too, with a warning, so that a file need not
// change. Each map is read by a table of its keys; yaml-cpp's exceptions end in ParsePluginConfig.
#include "policy/plugin_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <regex>
#include <set>
#include <utility>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::policy {
namespace {

using std::chrono::nanoseconds;

std::unexpected<Error> Wrong(const std::string& path, std::string_view reason) {
  return Fail(ErrorKind::kInvalid, format("{}: {}", path, reason));
}

bool IsQuoted(const YAML::Node& node) { return node.Tag() == "!"; }

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

using ReadValue = std::function<Status(const YAML::Node& node, const std::string& path)>;
struct Key {
  std::string_view name;
  ReadValue read;
};

std::string Join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : format("{}.{}", path, key);
}

// Reads a map by its table. A null value, of the map or of a key, counts as absent.
Status ReadMap(const YAML::Node& node, const std::string& path, const std::vector<Key>& keys) {
  if (node.IsNull()) {
    return {};
  }
  if (!node.IsMap()) {
    return Wrong(path.empty() ? "configuration" : path, "must be a map");
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    const std::string at = Join(path, name);
    const auto key = std::ranges::find(keys, name, &Key::name);
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

// Calls read for each element of a list.
Status ReadList(const YAML::Node& node, const std::string& path, const ReadValue& read) {
  if (!node.IsSequence()) {
    return Wrong(path, "must be a list");
  }
  for (size_t i = 0; i < node.size(); ++i) {
    TRY(read(node[i], format("{}[{}]", path, i)));
  }
  return {};
}

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
  return value.has_value() ? value : Wrong(path, value.error().message);
}

Status ReadFlags(const YAML::Node& node, const std::string& path, PluginFlags& flags) {
  const ReadValue plugin = [&](const YAML::Node& map, const std::string& at) {
    return ReadMap(map, at,
                   {{"passDeviceSpecs", Into(flags.pass_device_specs, Bool)},
                    {"deviceListStrategy", Into(flags.device_list_strategy, ListStrategy)},
                    {"deviceIDStrategy", IntoWord(flags.device_id_strategy, ParseIdStrategy)},
                    {"cdiAnnotationPrefix", Into(flags.cdi_annotation_prefix, Text)},
                    {"nvidiaCTKPath", Into(flags.ctk_path, Text)},
                    {"containerDriverRoot", Into(flags.container_driver_root, Text)},
                    {"sharedDevicesAllocationPolicy",
                     IntoWord(flags.shared_devices_allocation_policy, ParseAllocationPolicy)}});
  };
  const ReadValue gfd = [&](const YAML::Node& map, const std::string& at) {
    return ReadMap(map, at,
                   {{"oneshot", Into(flags.gfd.oneshot, Bool)},
                    {"noTimestamp", Into(flags.gfd.no_timestamp, Bool)},
                    {"sleepInterval", Into(flags.gfd.sleep_interval, Duration)},
                    {"outputFile", Into(flags.gfd.output_file, Text)},
                    {"machineTypeFile", Into(flags.gfd.machine_type_file, Text)}});
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
       {"gfd", gfd}});
}

// "gpu" and "nvidia.com/gpu" -> "nvidia.com/gpu".
Result<std::string> ResourceName(const YAML::Node& node, const std::string& path) {
  static constexpr size_t kLongest = 63;
  TRY_ASSIGN(std::string name, Text(node, path));
  const std::string prefix = format("{}/", names::kNvidiaGroup);
  if (!name.starts_with(prefix)) {
    name.insert(0, prefix);
  }
  const std::regex subdomain("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
  if (name.size() > kLongest || !std::regex_match(name.substr(prefix.size()), subdomain)) {
    return Wrong(path, format("\"{}\" is no resource name of {} (at most 63 characters)", name,
                              names::kNvidiaGroup));
  }
  return name;
}

// `devices`: "all", a number, or a list of indexes and UUIDs. True if it asks for all.
Result<bool> AsksForAll(const YAML::Node& node, const std::string& path) {
  const std::regex device(
      "[0-9]+(:[0-9]+)?|(GPU|MIG)-[-0-9a-fA-F]+|MIG-GPU-[-0-9a-fA-F]+/[0-9]+/[0-9]+");
  const auto wrong = [&] {
    return Wrong(path, "must be all, a number above 0, or a list of GPU indexes and UUIDs");
  };
  if (node.IsScalar()) {
    int count = 0;
    if (node.Scalar() == "all") {
      return true;
    }
    if (!YAML::convert<int>::decode(node, count) || count <= 0) {
      return wrong();
    }
    return false;
  }
  if (!node.IsSequence()) {
    return wrong();
  }
  for (const auto& item : node) {
    if (!item.IsScalar() || !std::regex_match(item.Scalar(), device)) {
      return wrong();
    }
  }
  return false;
}

Status ReadReplicas(const YAML::Node& node, const std::string& path, int& replicas) {
  TRY_ASSIGN(replicas, Int(node, path));
  if (replicas < 2) {
    return Wrong(path, format("must be at least 2, is {}", replicas));
  }
  return {};
}

// One of `sharing.timeSlicing` and `sharing.mps`.
class SharingReader {
 public:
  SharingReader(SharingStrategy strategy, std::vector<std::string>& warnings)
      : warnings_(warnings) {
    sharing_.strategy = strategy;
    sharing_.fail_requests_greater_than_one = strategy == SharingStrategy::kMps;
  }

  Status Read(const YAML::Node& node, const std::string& path) {
    TRY(ReadMap(
        node, path,
        {{"renameByDefault", Into(sharing_.rename_by_default, Bool)},
         {"failRequestsGreaterThanOne", Into(sharing_.fail_requests_greater_than_one, Bool)},
         {"resources", [&](const YAML::Node& list, const std::string& at) {
            return ReadList(list, at, [&](const YAML::Node& item, const std::string& where) {
              return ReadResource(item, where);
            });
          }}}));
    if (sharing_.resources.empty()) {
      return Wrong(Join(path, "resources"), "must name at least one resource");
    }
    for (const auto& [at, name, rename] : renames_) {
      if (rename != sharing_.OfferedName(name)) {
        warnings_.push_back(format("{}: has no effect, the resource is offered as {}", at,
                                   sharing_.OfferedName(name)));
      }
    }
    return {};
  }

  Sharing Take() { return std::move(sharing_); }

 private:
  struct Rename {
    std::string path;
    std::string name;
    std::string rename;
  };

  Status ReadResource(const YAML::Node& node, const std::string& path) {
    SharedResource resource;
    std::optional<std::string> rename;
    TRY(ReadMap(node, path,
                {{"name", Into(resource.name, ResourceName)},
                 {"replicas",
                  [&](const YAML::Node& value, const std::string& at) {
                    return ReadReplicas(value, at, resource.replicas);
                  }},
                 {"rename", Into(rename, ResourceName)},
                 {"devices", [&](const YAML::Node& value, const std::string& at) -> Status {
                    TRY_ASSIGN(const bool all, AsksForAll(value, at));
                    if (!all) {
                      warnings_.push_back(format("{}: has no effect, all devices are shared", at));
                    }
                    return {};
                  }}}));
    if (resource.name.empty()) {
      return Wrong(Join(path, "name"), "is required");
    }
    if (resource.replicas == 0) {
      return Wrong(Join(path, "replicas"), "is required");
    }
    if (sharing_.ReplicasOf(resource.name) > 1) {
      return Wrong(Join(path, "name"), format("{} stands twice", resource.name));
    }
    if (rename.has_value()) {
      renames_.push_back({Join(path, "rename"), resource.name, *std::move(rename)});
    }
    sharing_.resources.push_back(std::move(resource));
    return {};
  }

  Sharing sharing_;
  std::vector<Rename> renames_;
  std::vector<std::string>& warnings_;
};

Status ReadSharing(const YAML::Node& node, const std::string& path, PluginConfig& config) {
  std::optional<Sharing> time_slicing;
  std::optional<Sharing> mps;
  const auto reader = [&config](SharingStrategy strategy, std::optional<Sharing>& into) {
    return [&config, strategy, &into](const YAML::Node& map, const std::string& at) -> Status {
      SharingReader sharing(strategy, config.warnings);
      TRY(sharing.Read(map, at));
      into = sharing.Take();
      return {};
    };
  };
  TRY(ReadMap(node, path,
              {{"timeSlicing", reader(SharingStrategy::kTimeSlicing, time_slicing)},
               {"mps", reader(SharingStrategy::kMps, mps)}}));
  if (mps.has_value() && time_slicing.has_value()) {
    config.warnings.push_back("sharing.timeSlicing: has no effect beside sharing.mps");
  }
  if (mps.has_value() || time_slicing.has_value()) {
    config.sharing = mps.has_value() ? *std::move(mps) : *std::move(time_slicing);
  }
  return {};
}

Status ReadPatterns(const YAML::Node& node, const std::string& path) {
  const ReadValue entry = [](const YAML::Node& map, const std::string& at) -> Status {
    std::string pattern;
    std::string name;
    TRY(ReadMap(map, at, {{"pattern", Into(pattern, Text)}, {"name", Into(name, ResourceName)}}));
    if (pattern.empty() || name.empty()) {
      return Wrong(Join(at, pattern.empty() ? "pattern" : "name"), "is required");
    }
    return {};
  };
  const ReadValue list = [&](const YAML::Node& value, const std::string& at) {
    return ReadList(value, at, entry);
  };
  return ReadMap(node, path, {{"gpus", list}, {"mig", list}});
}

Status ReadImex(const YAML::Node& node, const std::string& path, PluginConfig& config) {
  const ReadValue channels = [&](const YAML::Node& list, const std::string& at) -> Status {
    TRY(ReadList(list, at, [&](const YAML::Node& item, const std::string& where) -> Status {
      TRY_ASSIGN(const int id, Int(item, where));
      config.imex_channel_ids.push_back(id);
      return {};
    }));
    if (config.imex_channel_ids.size() > 1 ||
        (config.imex_channel_ids.size() == 1 && config.imex_channel_ids[0] != 0)) {
      return Wrong(at, "must be [] or [0]");
    }
    return {};
  };
  return ReadMap(node, path,
                 {{"channelIDs", channels}, {"required", Into(config.imex_required, Bool)}});
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
    TRY(ReadPatterns(node, path));
    config.warnings.push_back("resources: has no effect, resources cannot be renamed");
    return {};
  };
  TRY(ReadMap(
      root, "",
      {{"version", version},
       {"flags", [&](const YAML::Node& node,
                     const std::string& path) { return ReadFlags(node, path, config.flags); }},
       {"resources", resources},
       {"sharing", [&](const YAML::Node& node,
                       const std::string& path) { return ReadSharing(node, path, config); }},
       {"imex", [&](const YAML::Node& node, const std::string& path) {
          return ReadImex(node, path, config);
        }}}));
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

int Sharing::ReplicasOf(std::string_view resource) const {
  const auto found = std::ranges::find(resources, resource, &SharedResource::name);
  return found == resources.end() ? 1 : found->replicas;
}

std::string Sharing::OfferedName(std::string_view resource) const {
  return format("{}{}", resource,
                rename_by_default && ReplicasOf(resource) > 1 ? names::kSharedSuffix : "");
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
