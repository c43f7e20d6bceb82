// SPDX-License-Identifier: Apache-2.0
// Where do the counters come from?
#include "operands/metrics_exporter/load_counters.h"

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/config.h"

namespace gantry::metrics_exporter {
namespace {

// dcgm-exporter's key.
constexpr std::string_view kKey = "metrics";

Result<std::string> ReadConfigMap(const Arguments& arguments) {
  const auto parts = Split(arguments.config_map, ':');
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(arguments.kubeconfig));
  TRY_ASSIGN(const auto client,
             kube::Client::Create(std::move(config),
                                  {.component = "dcgm-exporter", .max_idle_connections = 0}));
  TRY_ASSIGN(const Json map, client->Get(kube::kinds::kConfigMap, {parts[0], parts[1]}));
  const Json* text = At(map, format("data.{}", kKey));
  if (text == nullptr || !text->is_string()) {
    return Fail(ErrorKind::kNotFound, format("read key {}: it has no such key", kKey));
  }
  return text->get<std::string>();
}

}  // namespace

Result<std::shared_ptr<const Counters>> LoadCounters(const Arguments& arguments) {
  Result<std::string> text =
      !arguments.config_map.empty() ? ReadConfigMap(arguments) : ReadFile(arguments.collectors);
  const std::string source = !arguments.config_map.empty()
                                 ? format("ConfigMap {}", arguments.config_map)
                                 : arguments.collectors;
  if (!text && arguments.config_map.empty() && text.error().kind == ErrorKind::kNotFound &&
      IsShippedFile(arguments.collectors)) {
    text = std::string(DefaultCounters());
  }
  if (!text) {
    return std::unexpected(text.error().In("load counters of " + source));
  }
  auto counters = ParseCounters(*text);
  if (!counters) {
    return std::unexpected(counters.error().In("load counters of " + source));
  }
  for (const std::string& warning : counters->warnings) {
    log::Warning("counters of {}: {}", source, warning);
  }
  log::Info("counters of {}: {} metrics, {} labels", source, counters->metrics.size(),
            counters->labels.size());
  return std::make_shared<const Counters>(*std::move(counters));
}

}  // namespace gantry::metrics_exporter
