// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gpu/mig_plan.h"
#include "nvml/mig_control.h"

// The configuration of nvidia-mig-parted (version v1, YAML or JSON). All of it pure.
namespace gantry::mig_manager {

// Which PCI devices an entry is about.
struct DeviceFilter {
  unsigned device = 0;                // device and vendor: 0x233010DE
  std::optional<unsigned> subsystem;  // the same of the board's maker
  bool operator==(const DeviceFilter&) const = default;
};

struct ConfigEntry {
  std::vector<DeviceFilter> filters;             // empty: any
  std::optional<std::vector<unsigned>> devices;  // by index; nullopt: all
  gpu::MigLayout layout;
  bool operator==(const ConfigEntry&) const = default;
};

// Layouts of a node by name.
using Config = std::map<std::string, std::vector<ConfigEntry>>;

// kInvalid names the key's path: "mig-configs.all-1g.5gb[0].devices".
Result<Config> ParseConfig(std::string_view text);

// The name of a layout; an empty one is the only one that there is. kInvalid: there is none such.
Result<std::string> SelectConfig(const Config& config, const std::string& name);

// What each GPU, in their order, is to be; nullopt: no entry is about it. Of several entries the
// last one counts. kInvalid: no entry is about any of them.
Result<std::vector<std::optional<gpu::MigLayout>>> LayoutsFor(const Config& config,
                                                              const std::string& name,
                                                              std::span<const nvml::MigGpu> gpus);

}  // namespace gantry::mig_manager
