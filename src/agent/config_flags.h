// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/flags.h"
#include "base/error.h"

namespace gantry::agent {

// Which device plugin configuration applies to this node: one file, or one of a folder, chosen by
// the node's label (flags of k8s-device-plugin v0.20 and its config manager).
struct ConfigFlags {
  std::string config_file;
  std::string config_dir;  // CONFIG_FILE_SRCDIR; overrides the file
  std::string default_config;
  std::string node_name;
  std::string node_label;
  std::vector<std::string> fallback_strategies;
};

// `file_variables` are the environment variables of --config-file.
void AddConfigFlags(FlagSet& set, ConfigFlags& to, FlagSet::Variables file_variables);

// The path of the configuration; empty: there is none. `label`: the value of the node's label.
// kInvalid as policy::ChooseConfig, else the folder's read error.
Result<std::string> ConfigPath(const ConfigFlags& flags, const std::optional<std::string>& label);

// The path to watch for changes of it; empty: none. A ConfigMap volume changes by the swap of a
// link in the folder, so this is the folder.
std::string ConfigPathToWatch(const ConfigFlags& flags);

}  // namespace gantry::agent
