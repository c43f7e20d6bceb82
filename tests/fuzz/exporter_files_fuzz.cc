// SPDX-License-Identifier: Apache-2.0
// What the metrics exporter reads besides its counters: a configuration in YAML, lines of the
// kernel's log, the state that an earlier process left, a selection of devices.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "operands/metrics_exporter/device_selector.h"
#include "operands/metrics_exporter/events.h"
#include "operands/metrics_exporter/xid_log.h"
#include "operands/metrics_exporter/yaml_config.h"

namespace gantry::metrics_exporter {
namespace {

void Fuzz(std::string_view text) {
  const auto config = ParseYamlConfig(text);
  CHECK(config.has_value() || !config.error().message.empty());
  if (config) {
    CHECK(!config->interval || config->interval->count() > 0);
    for (const WatchGroup& group : config->groups) {
      CHECK(group.interval.count() > 0 && !group.fields.empty());
    }
    if (config->counters) {
      static_cast<void>(ParseCounters(*config->counters));
    }
  }
  if (const auto logged = ParseXidLine(text)) {
    CHECK(logged->xid > 0 && logged->pci_bus_id.ends_with(".0"));
  }
  EventLog log({});
  if (log.Restore(text, "boot")) {
    EventLog again({});
    CHECK(again.Restore(log.Save("boot"), "boot").has_value());
    CHECK(again.Save("boot") == log.Save("boot"));
  }
  if (const auto devices = ParseDevices(text)) {
    CHECK(devices->gpus || devices->instances);
  }
}

}  // namespace
}  // namespace gantry::metrics_exporter

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::metrics_exporter::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
