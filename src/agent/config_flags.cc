// SPDX-License-Identifier: Apache-2.0
// Which configuration of the device plugin does this node use? The plugin, feature discovery and
// the MPS control daemon all call this, so that they read the same one.
#include "agent/config_flags.h"

#include "base/paths.h"
#include "policy/names.h"
#include "policy/plugin_config_choice.h"

namespace gantry::agent {

void AddConfigFlags(FlagSet& set, ConfigFlags& to, FlagSet::Variables file_variables) {
  set.Value("--config-file", to.config_file, file_variables, "configuration of the device plugin");
  set.Value("--config-file-srcdir", to.config_dir, {"CONFIG_FILE_SRCDIR"},
            "a folder of configurations to choose from");
  set.Value("--default-config", to.default_config, {"DEFAULT_CONFIG"}, "");
  set.Value("--node-name", to.node_name, {names::kNodeName}, "");
  set.Value("--node-label", to.node_label, {"NODE_LABEL"},
            "label of the node that names the configuration")
      ->default_val(names::kDevicePluginConfig);
  set.List("--fallback-strategies", to.fallback_strategies, {"FALLBACK_STRATEGIES"},
           "named, single, empty");
}

Result<std::string> ConfigPath(const ConfigFlags& flags, const std::optional<std::string>& label) {
  if (flags.config_dir.empty()) {
    return flags.config_file;
  }
  TRY_ASSIGN(const auto entries, ListDirectory(flags.config_dir));
  const policy::ConfigChoice choice{.label = label.value_or(""),
                                    .default_name = flags.default_config,
                                    .fallbacks = flags.fallback_strategies};
  TRY_ASSIGN(const std::string name, policy::ChooseConfig(choice, entries));
  return name.empty() ? "" : JoinPath(flags.config_dir, name);
}

std::string ConfigPathToWatch(const ConfigFlags& flags) {
  if (!flags.config_dir.empty()) {
    return flags.config_dir;
  }
  return flags.config_file.empty() ? "" : ParentOf(flags.config_file);
}

}  // namespace gantry::agent
