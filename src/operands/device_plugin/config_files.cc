// SPDX-License-Identifier: Apache-2.0
// Which configuration does this node have now?
#include "operands/device_plugin/config_files.h"

#include "base/paths.h"
#include "base/text.h"

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
  TRY_ASSIGN(const auto path, agent::ConfigPath(flags, label));
  if (path.empty()) {
    return LoadedConfig{.config = {}, .source = "none", .text = {}};
  }
  return Load(path, flags.config_dir.empty() ? path : format("'{}'", BaseName(path)));
}

}  // namespace gantry::device_plugin
