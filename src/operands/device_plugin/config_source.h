// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace gantry::device_plugin {

// Which of the configurations in a folder (a mounted ConfigMap) is meant for this node.
struct ConfigChoice {
  std::optional<std::string> label;    // the value of the node's label; none: it has no such label
  std::string default_config;          // DEFAULT_CONFIG
  std::vector<std::string> fallbacks;  // FALLBACK_STRATEGIES: named, single, empty
};

// The name of the file, or an empty name for the empty configuration. In this order: the label, the
// default, the fallbacks. kNotFound names what was asked for and what there is; kInvalid: a
// fallback that nobody knows.
Result<std::string> ChooseConfig(const ConfigChoice& choice, const std::vector<std::string>& names);

// Entries of the folder that are configurations: what a ConfigMap volume keeps for itself begins
// with "..".
std::vector<std::string> ConfigNames(const std::vector<std::string>& entries);

}  // namespace gantry::device_plugin
