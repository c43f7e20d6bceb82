// SPDX-License-Identifier: Apache-2.0
// Which layout does a configuration give to each GPU? The configuration is that of
// nvidia-mig-parted; a key that it does not know is refused, because a mistyped one would be taken
// for one that is not set.
#include "operands/mig_manager/config.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "gpu/mig_profile.h"
#include "operands/mig_manager/strict_keys.h"
#include "policy/yaml.h"

namespace gantry::mig_manager {
namespace {

Status CheckKeys(const Json& map, const std::string& path,
                 std::initializer_list<std::string_view> known) {
  if (!map.is_object()) {
    return Refused(path.empty() ? "configuration" : path, "not a map");
  }
  if (const auto unknown = UnknownKey(map, path, known)) {
    const std::vector<std::string> names(known.begin(), known.end());
    return Refused(*unknown, "unknown key; known are " + Join(names, ", "));
  }
  return {};
}

std::optional<unsigned> HexNumber(std::string_view text) {
  unsigned number = 0;
  if (!text.starts_with("0x") && !text.starts_with("0X")) {
    return std::nullopt;
  }
  text.remove_prefix(2);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return code == std::errc() && end == text.data() + text.size() && !text.empty()
             ? std::optional(number)
             : std::nullopt;
}

Result<DeviceFilter> ParseFilter(const Json& value, const std::string& path) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const size_t colon = text.find(':');
  const auto device = HexNumber(text.substr(0, colon));
  const auto subsystem =
      colon == std::string::npos ? std::nullopt : HexNumber(text.substr(colon + 1));
  if (!device.has_value() || subsystem.has_value() != (colon != std::string::npos)) {
    return Refused(path, format("{} is not a PCI id such as 0x233010DE or 0x233010DE:0x16C110DE",
                                value.dump()));
  }
  return DeviceFilter{.device = *device, .subsystem = subsystem};
}

Result<std::vector<DeviceFilter>> ParseFilters(const Json& value, const std::string& path) {
  std::vector<DeviceFilter> filters;
  if (!value.is_array()) {
    TRY_ASSIGN(filters.emplace_back(), ParseFilter(value, path));
    return filters;
  }
  for (size_t i = 0; i < value.size(); ++i) {
    TRY_ASSIGN(filters.emplace_back(), ParseFilter(value[i], format("{}[{}]", path, i)));
  }
  return filters;
}

Result<std::optional<std::vector<unsigned>>> ParseDevices(const Json& value,
                                                          const std::string& path) {
  if (value == "all") {
    return std::nullopt;
  }
  std::vector<unsigned> devices;
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    if (!one.is_number_integer() || one.get<long long>() < 0 || one.get<long long>() > 1023) {
      return Refused(path, "neither \"all\" nor a list of indices of GPUs");
    }
    devices.push_back(one.get<unsigned>());
  }
  return devices;
}

Result<std::map<std::string, unsigned>> ParseMigDevices(const Json& value,
                                                        const std::string& path) {
  std::map<std::string, unsigned> devices;
  if (!value.is_object()) {
    return Refused(path, "not a map of profiles and their counts");
  }
  bool any = value.empty();
  for (const auto& [name, count] : value.items()) {
    const std::string at = format("{}[\"{}\"]", path, name);
    if (const auto profile = gpu::ParseMigProfile(name); !profile.has_value()) {
      return Refused(path, profile.error().message);
    }
    if (!count.is_number_integer() || count.get<long long>() < 0 ||
        count.get<long long>() > 1'000'000) {
      return Refused(at, "the count is not a number from 0 on");
    }
    devices[name] = count.get<unsigned>();
    any = any || devices[name] > 0;
  }
  return any ? Result<std::map<std::string, unsigned>>(std::move(devices))
             : Refused(path, "all counts are 0");
}

Status ParseLayout(const Json& entry, const std::string& path, gpu::MigLayout& layout) {
  const Json* enabled = At(entry, {"mig-enabled"});
  if (enabled == nullptr || !enabled->is_boolean()) {
    return Refused(path + ".mig-enabled",
                   enabled == nullptr ? "missing" : "neither true nor false");
  }
  layout.enabled = enabled->get<bool>();
  const Json* devices = At(entry, {"mig-devices"});
  if (devices == nullptr || devices->is_null()) {
    return layout.enabled && devices == nullptr
               ? Refused(path + ".mig-devices", "missing, though mig-enabled is true")
               : Status();
  }
  TRY_ASSIGN(layout.devices, ParseMigDevices(*devices, path + ".mig-devices"));
  return layout.enabled || layout.devices.empty()
             ? Status()
             : Refused(path + ".mig-devices", "not empty, though mig-enabled is false");
}

Result<ConfigEntry> ParseEntry(const Json& value, const std::string& path) {
  TRY(CheckKeys(value, path, {"device-filter", "devices", "mig-enabled", "mig-devices"}));
  ConfigEntry entry;
  if (const Json* filter = At(value, {"device-filter"}); filter != nullptr && !filter->is_null()) {
    TRY_ASSIGN(entry.filters, ParseFilters(*filter, path + ".device-filter"));
  }
  const Json* devices = At(value, {"devices"});
  if (devices == nullptr) {
    return Refused(path + ".devices", "missing");
  }
  TRY_ASSIGN(entry.devices, ParseDevices(*devices, path + ".devices"));
  TRY(ParseLayout(value, path, entry.layout));
  return entry;
}

bool IsAbout(const ConfigEntry& entry, const nvml::MigGpu& gpu) {
  const bool filtered = std::ranges::any_of(entry.filters, [&](const DeviceFilter& one) {
    return one.device == gpu.pci_device &&
           one.subsystem.value_or(gpu.pci_subsystem) == gpu.pci_subsystem;
  });
  return (entry.filters.empty() || filtered) &&
         (!entry.devices.has_value() ||
          std::ranges::find(*entry.devices, gpu.index) != entry.devices->end());
}

std::string Ids(std::span<const nvml::MigGpu> gpus) {
  std::vector<std::string> ids;
  for (const nvml::MigGpu& gpu : gpus) {
    ids.push_back(
        format("GPU {} is 0x{:08X}:0x{:08X}", gpu.index, gpu.pci_device, gpu.pci_subsystem));
  }
  return ids.empty() ? "there are no GPUs" : Join(ids, ", ");
}

}  // namespace

Result<Config> ParseConfig(std::string_view text) {
  TRY_ASSIGN(const Json document, policy::ParseYaml(text));
  TRY(CheckKeys(document, "", {"version", "mig-configs"}));
  if (document.value("version", Json()) != "v1") {
    return Refused("version", "must be v1");
  }
  const Json configs = document.value("mig-configs", Json());
  if (!configs.is_object() || configs.empty()) {
    return Refused("mig-configs", "must be a map with at least one configuration");
  }
  Config config;
  for (const auto& [name, entries] : configs.items()) {
    const std::string path = "mig-configs." + name;
    if (!entries.is_array() || entries.empty()) {
      return Refused(path, "must be a list with at least one entry");
    }
    for (size_t i = 0; i < entries.size(); ++i) {
      TRY_ASSIGN(config[name].emplace_back(), ParseEntry(entries[i], format("{}[{}]", path, i)));
    }
  }
  return config;
}

Result<std::string> SelectConfig(const Config& config, const std::string& name) {
  if (name.empty() && config.size() == 1) {
    return config.begin()->first;
  }
  if (config.contains(name)) {
    return name;
  }
  std::vector<std::string> names;
  for (const auto& [one, entries] : config) {
    names.push_back(one);
  }
  return Fail(ErrorKind::kInvalid,
              name.empty() ? format("no configuration selected; there are {}", Join(names, ", "))
                           : format("mig-configs.{}: no such configuration; there are {}", name,
                                    Join(names, ", ")));
}

Result<std::vector<std::optional<gpu::MigLayout>>> LayoutsFor(const Config& config,
                                                              const std::string& name,
                                                              std::span<const nvml::MigGpu> gpus) {
  TRY_ASSIGN(const std::string selected, SelectConfig(config, name));
  std::vector<std::optional<gpu::MigLayout>> layouts(gpus.size());
  bool any = false;
  for (const ConfigEntry& entry : config.at(selected)) {
    for (size_t i = 0; i < gpus.size(); ++i) {
      if (IsAbout(entry, gpus[i])) {
        layouts[i] = entry.layout;
        any = true;
      }
    }
  }
  if (!any) {
    return Fail(
        ErrorKind::kInvalid,
        format("mig-configs.{}: no entry is about a GPU of this node: {}", selected, Ids(gpus)));
  }
  return layouts;
}

}  // namespace gantry::mig_manager
