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

Result<std::string> ReadConfigMap(const Flags& flags) {
  const auto parts = Split(flags.config_map, ':');
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(flags.kubeconfig));
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

Result<std::shared_ptr<const Counters>> LoadCounters(const Flags& flags) {
  Result<std::string> text = !flags.config_map.empty() ? ReadConfigMap(flags)
                             : flags.counters          ? *flags.counters
                                                       : ReadFile(flags.collectors);
  const std::string source = !flags.config_map.empty() ? format("ConfigMap {}", flags.config_map)
                             : flags.counters          ? "--config-file"
                                                       : flags.collectors;
  if (!text && flags.config_map.empty() && text.error().kind == ErrorKind::kNotFound &&
      IsShippedFile(flags.collectors)) {
    text = std::string(DefaultCounters());
  }
  if (!text) {
    return std::unexpected(text.error().In("load counters of " + source));
  }
  auto counters = ParseCounters(*text);
  if (!counters) {
    return std::unexpected(counters.error().In("load counters of " + source));
  }
  if (const Status grouped = CheckGroups(flags.groups, *counters); !grouped) {
    return std::unexpected(grouped.error().In("--config-file"));
  }
  for (const std::string& warning : counters->warnings) {
    log::Warning("counters of {}: {}", source, warning);
  }
  log::Info("counters of {}: {} metrics, {} labels", source, counters->metrics.size(),
            counters->labels.size());
  return std::make_shared<const Counters>(*std::move(counters));
}

}  // namespace gantry::metrics_exporter
