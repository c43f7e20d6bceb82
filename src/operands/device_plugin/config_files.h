// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "operands/device_plugin/settings.h"
#include "policy/plugin_config.h"

namespace gantry::device_plugin {

struct LoadedConfig {
  policy::PluginConfig config;
  std::string source;  // for messages: "time-slicing of /available-configs", "none"
  std::string text;    // as read
};

// The configuration for this node: of the folder, else the file, else the empty one. An error names
// the configuration and the key.
Result<LoadedConfig> LoadConfig(const Flags& flags, const std::optional<std::string>& label);

}  // namespace gantry::device_plugin
