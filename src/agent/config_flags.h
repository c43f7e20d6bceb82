// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/flags.h"
#include "base/error.h"

namespace gantry::agent {

// Which of the device plugin's configurations counts on this node: one file, or a folder to choose
// from by the node's label (flags of k8s-device-plugin v0.20 and its config manager).
struct ConfigFlags {
  std::string config_file;
  std::string config_dir;  // CONFIG_FILE_SRCDIR; the file does not count beside it
  std::string default_config;
  std::string node_name;
  std::string node_label;
  std::vector<std::string> fallback_strategies;
};

// `file_variables` stand in for --config-file.
void AddConfigFlags(FlagSet& set, ConfigFlags& to, FlagSet::Variables file_variables);

// The path of the configuration; empty: there is none. `label`: the value of the node's label.
// kInvalid as policy::ChooseConfig, else as the folder can't be read.
Result<std::string> ConfigPath(const ConfigFlags& flags, const std::optional<std::string>& label);

// What to watch for changes of it; empty: nothing. A ConfigMap volume changes by the swap of a link
// in the folder, hence the folder is what is watched.
std::string ConfigPathToWatch(const ConfigFlags& flags);

}  // namespace gantry::agent
