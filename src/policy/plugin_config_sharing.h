// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "policy/plugin_config.h"
#include "policy/yaml_map.h"

namespace gantry::policy {

// "gpu" and "nvidia.com/gpu" -> "nvidia.com/gpu".
Result<std::string> ResourceName(const YAML::Node& node, const std::string& path);

// Reads the key `sharing` into the configuration.
Status ReadSharing(const YAML::Node& node, const std::string& path, PluginConfig& config);

}  // namespace gantry::policy
