// SPDX-License-Identifier: Apache-2.0
// What does the configuration of this node say now? Read from a folder that a ConfigMap is mounted
// at, or from one file. A ConfigMap volume changes by the swap of a link in the folder, hence the
// folder is what is watched.
#include "operands/device_plugin/config_files.h"

#include "base/paths.h"
#include "base/text.h"
#include "policy/plugin_config_choice.h"

namespace gantry::device_plugin {
namespace {

Result<LoadedConfig> Load(const std::string& path, std::string source) {
  LoadedConfig loaded{.config = {}, .source = std::move(source), .text = {}};
  const auto context = format("read configuration {} as YAML", loaded.source);
  auto text = ReadFile(path);
  if (!text) {
    return std::unexpected(text.error().In(context));
  }
  auto config = policy::ParsePluginConfig(*text);
  if (!config) {
    return std::unexpected(config.error().In(context));
  }
  loaded.text = *std::move(text);
  loaded.config = *std::move(config);
  return loaded;
}

}  // namespace

Result<LoadedConfig> LoadConfig(const Flags& flags, const std::optional<std::string>& label) {
  if (!flags.config_dir.empty()) {
    TRY_ASSIGN(const auto entries, ListDirectory(flags.config_dir));
    const policy::ConfigChoice choice{.label = label.value_or(""),
                                      .default_name = flags.default_config,
                                      .fallbacks = flags.fallback_strategies};
    TRY_ASSIGN(const auto name, policy::ChooseConfig(choice, entries));
    if (!name.empty()) {
      return Load(JoinPath(flags.config_dir, name), format("'{}'", name));
    }
  } else if (!flags.config_file.empty()) {
    return Load(flags.config_file, flags.config_file);
  }
  return LoadedConfig{.config = {}, .source = "none", .text = {}};
}

std::string ConfigPathToWatch(const Flags& flags) {
  if (!flags.config_dir.empty()) {
    return flags.config_dir;
  }
  return flags.config_file.empty() ? "" : ParentOf(flags.config_file);
}

}  // namespace gantry::device_plugin
