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

}  // namespace

Result<RuntimeConfig> ParseRuntimeConfig(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Fail(ErrorKind::kInvalid,
                format("read config.toml line {}: {}", parsed.error().source().begin.line,
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

}  // namespace gantry::container_runtime
