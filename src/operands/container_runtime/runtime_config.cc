// SPDX-License-Identifier: Apache-2.0
// config.toml of the NVIDIA Container Toolkit, as far as this runtime acts on it.
#include "operands/container_runtime/runtime_config.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/text.h"

namespace gantry::container_runtime {
namespace {

void Take(const toml::node_view<const toml::node>& node, std::vector<std::string>& into) {
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    return;
  }
  into.clear();
  for (const toml::node& entry : *list) {
    if (const auto text = entry.value<std::string>()) {
      into.push_back(*text);
    }
  }
}

std::string Quoted(std::string_view text) { return format("\"{}\"", text); }

std::string QuotedList(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) {
    quoted.push_back(Quoted(text));
  }
  return "[" + Join(quoted, ", ") + "]";
}

}  // namespace

Result<RuntimeConfig> ParseRuntimeConfig(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Fail(ErrorKind::kInvalid, format("read config.toml line {}: {}",
                                            parsed.error().source().begin.line,
                                            parsed.error().description()));
  }
  const toml::table& root = parsed.table();
  const auto runtime = root["nvidia-container-runtime"];
  RuntimeConfig config;
  config.accept_environment =
      root["accept-nvidia-visible-devices-envvar-when-unprivileged"].value_or(false);
  config.accept_mounts = root["accept-nvidia-visible-devices-as-volume-mounts"].value_or(false);
  Take(runtime["runtimes"], config.runtimes);
  const auto cdi = runtime["modes"]["cdi"];
  config.default_kind = cdi["default-kind"].value_or(std::string(config.default_kind));
  Take(cdi["spec-dirs"], config.spec_dirs);
  Take(cdi["annotation-prefixes"], config.annotation_prefixes);
  return config;
}

std::string RuntimeConfigText(const RuntimeConfig& config, std::string_view toolkit_dir,
                              std::string_view mode, std::string_view debug_file,
                              std::string_view log_level) {
  std::string text;
  const auto line = [&](std::string_view key, std::string_view value) {
    text += format("{} = {}\n", key, value);
  };
  line("accept-nvidia-visible-devices-as-volume-mounts", config.accept_mounts ? "true" : "false");
  line("accept-nvidia-visible-devices-envvar-when-unprivileged",
       config.accept_environment ? "true" : "false");
  text += "\n[nvidia-container-runtime]\n";
  if (!debug_file.empty()) {
    line("debug", Quoted(debug_file));
  }
  if (!log_level.empty()) {
    line("log-level", Quoted(log_level));
  }
  line("mode", Quoted(mode));
  line("runtimes", QuotedList(config.runtimes));
  text += "\n[nvidia-container-runtime.modes.cdi]\n";
  line("annotation-prefixes", QuotedList(config.annotation_prefixes));
  line("default-kind", Quoted(config.default_kind));
  line("spec-dirs", QuotedList(config.spec_dirs));
  text += "\n[nvidia-container-runtime-hook]\n";
  line("path", Quoted(format("{}/nvidia-container-runtime-hook", toolkit_dir)));
  text += "\n[nvidia-ctk]\n";
  line("path", Quoted(format("{}/nvidia-ctk", toolkit_dir)));
  return text;
}

}  // namespace gantry::container_runtime
