// SPDX-License-Identifier: Apache-2.0
// Which configuration says how these GPUs are divided, or how they could be?
#include "operands/mig_manager/config_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "gpu/mig_plan.h"

namespace gantry::mig_manager {
namespace {

std::string FilterText(const DeviceFilter& filter) {
  return filter.subsystem.has_value()
             ? format("0x{:08X}:0x{:08X}", filter.device, *filter.subsystem)
             : format("0x{:08X}", filter.device);
}

Json EntryJson(const ConfigEntry& entry) {
  Json json = {{"devices", "all"},
               {"mig-enabled", entry.layout.enabled},
               {"mig-devices", Json(entry.layout.devices)}};
  if (entry.layout.devices.empty()) {
    json["mig-devices"] = Json::object();
  }
  if (entry.devices.has_value()) {
    json["devices"] = *entry.devices;
  }
  for (const DeviceFilter& filter : entry.filters) {
    json["device-filter"].push_back(FilterText(filter));
  }
  return json;
}

std::string EntryYaml(const ConfigEntry& entry) {
  const Json json = EntryJson(entry);
  std::string text = "  - ";
  if (json.contains("device-filter")) {
    text += format("device-filter: {}\n    ", json["device-filter"].dump());
  }
  text += entry.devices.has_value() ? format("devices: {}\n", json["devices"].dump())
                                    : std::string("devices: all\n");
  text += format("    mig-enabled: {}\n", entry.layout.enabled);
  text += entry.layout.devices.empty() ? "    mig-devices: {}\n" : "    mig-devices:\n";
  for (const auto& [name, count] : entry.layout.devices) {
    text += format("      \"{}\": {}\n", name, count);
  }
  return text;
}

std::set<unsigned> KindsOf(std::span<const nvml::MigGpu> gpus) {
  std::set<unsigned> kinds;
  for (const nvml::MigGpu& gpu : gpus) {
    kinds.insert(gpu.pci_device);
  }
  return kinds;
}

void AddFilter(ConfigEntry& entry, unsigned device) {
  const DeviceFilter filter{.device = device, .subsystem = std::nullopt};
  if (std::ranges::find(entry.filters, filter) == entry.filters.end()) {
    entry.filters.push_back(filter);
  }
}

// The GPUs of one layout, as an entry.
ConfigEntry EntryOf(std::span<const nvml::MigGpu> gpus, const std::vector<unsigned>& indices,
                    gpu::MigLayout layout) {
  ConfigEntry entry{.filters = {}, .devices = std::nullopt, .layout = std::move(layout)};
  if (indices.size() == gpus.size()) {
    return entry;
  }
  bool all_of_kinds = true;
  std::set<unsigned> kinds;
  for (const nvml::MigGpu& gpu : gpus) {
    if (std::ranges::find(indices, gpu.index) != indices.end()) {
      kinds.insert(gpu.pci_device);
    }
  }
  for (const nvml::MigGpu& gpu : gpus) {
    all_of_kinds = all_of_kinds && (!kinds.contains(gpu.pci_device) ||
                                    std::ranges::find(indices, gpu.index) != indices.end());
  }
  if (KindsOf(gpus).size() > 1) {
    for (const unsigned kind : kinds) {
      AddFilter(entry, kind);
    }
  }
  if (!all_of_kinds) {
    entry.devices = indices;
  }
  return entry;
}

// "all-1g.10gb.me" of "1g.10gb+me".
std::string NameOf(std::string profile) {
  std::ranges::replace(profile, '+', '.');
  return "all-" + profile;
}

// The plain profile of so many slices of which most fit; null: there is none.
const nvml::GpuInstanceProfile* Plain(const nvml::MigGpu& gpu, unsigned slices) {
  const nvml::GpuInstanceProfile* best = nullptr;
  for (const nvml::GpuInstanceProfile& one : gpu.profiles) {
    if (one.slices == slices && one.name.ends_with("gb") &&
        (best == nullptr || one.count > best->count)) {
      best = &one;
    }
  }
  return best;
}

// Two small ones, a 2g, and on boards of seven slices a 3g.
std::optional<gpu::MigLayout> Balanced(const nvml::MigGpu& gpu) {
  gpu::MigLayout layout{.enabled = true};
  std::vector<std::pair<unsigned, unsigned>> parts = {{1, 2}, {2, 1}};
  if (Plain(gpu, 7) != nullptr) {
    parts.emplace_back(3, 1);
  }
  for (const auto& [slices, count] : parts) {
    const nvml::GpuInstanceProfile* profile = Plain(gpu, slices);
    if (profile == nullptr) {
      return std::nullopt;
    }
    layout.devices[profile->name] = count;
  }
  return layout;
}

// Adds the layout to the configuration of that name, for GPUs of this kind.
void Add(Config& config, const std::string& name, const gpu::MigLayout& layout,
         const nvml::MigGpu& gpu, bool filtered) {
  std::vector<ConfigEntry>& entries = config[name];
  auto found = std::ranges::find(entries, layout, &ConfigEntry::layout);
  if (found == entries.end()) {
    entries.push_back({.filters = {}, .devices = std::nullopt, .layout = layout});
    found = std::prev(entries.end());
  }
  if (filtered) {
    AddFilter(*found, gpu.pci_device);
  }
}

}  // namespace

Result<ConfigFormat> ParseConfigFormat(std::string_view text) {
  if (text == "yaml") {
    return ConfigFormat::kYaml;
  }
  if (text == "json") {
    return ConfigFormat::kJson;
  }
  return Fail(ErrorKind::kInvalid, format("\"{}\" is neither yaml nor json", text));
}

std::string ConfigText(const Config& config, ConfigFormat form) {
  if (form == ConfigFormat::kJson) {
    Json configs = Json::object();
    for (const auto& [name, entries] : config) {
      for (const ConfigEntry& entry : entries) {
        configs[name].push_back(EntryJson(entry));
      }
    }
    return Json{{"version", "v1"}, {"mig-configs", std::move(configs)}}.dump(2) + "\n";
  }
  std::string text = "version: v1\nmig-configs:\n";
  for (const auto& [name, entries] : config) {
    text += format("  {}:\n", name);
    for (const ConfigEntry& entry : entries) {
      text += EntryYaml(entry);
    }
  }
  return text;
}

Config ExportConfig(std::span<const nvml::MigGpu> gpus, const std::string& name) {
  std::vector<std::pair<gpu::MigLayout, std::vector<unsigned>>> groups;
  for (const nvml::MigGpu& gpu : gpus) {
    const gpu::MigLayout layout{.enabled = gpu.enabled, .devices = gpu::MigDevicesOf(gpu)};
    auto found = std::ranges::find(groups, layout, [](const auto& group) { return group.first; });
    if (found == groups.end()) {
      groups.emplace_back(layout, std::vector<unsigned>());
      found = std::prev(groups.end());
    }
    found->second.push_back(gpu.index);
  }
  Config config;
  for (auto& [layout, indices] : groups) {
    config[name].push_back(EntryOf(gpus, indices, layout));
  }
  return config;
}

Result<Config> GenerateConfig(std::span<const nvml::MigGpu> gpus) {
  const bool filtered = KindsOf(gpus).size() > 1;
  Config config;
  config["all-disabled"].emplace_back();
  bool any = false;
  for (const nvml::MigGpu& gpu : gpus) {
    if (!gpu.capable) {
      continue;
    }
    Add(config, "all-enabled", {.enabled = true}, gpu, filtered);
    if (const auto balanced = Balanced(gpu); balanced.has_value()) {
      Add(config, "all-balanced", *balanced, gpu, filtered);
    }
    for (const nvml::GpuInstanceProfile& profile : gpu.profiles) {
      Add(config, NameOf(profile.name),
          {.enabled = true, .devices = {{profile.name, profile.count}}}, gpu, filtered);
      any = true;
    }
  }
  if (!any) {
    return Fail(ErrorKind::kUnsupported,
                "generate a MIG configuration: no GPU reports profiles (drivers before 550 do so "
                "only while MIG is enabled)");
  }
  return config;
}

}  // namespace gantry::mig_manager
