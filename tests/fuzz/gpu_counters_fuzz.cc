// SPDX-License-Identifier: Apache-2.0
// A file of counters, which users write for the metrics exporter. What is accepted could be
// printed: each metric has a field, and a name that no other metric has.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "operands/metrics_exporter/counters.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace gantry;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto counters = metrics_exporter::ParseCounters(text);
  CHECK(counters.has_value() || !counters.error().message.empty());
  if (counters) {
    std::set<std::string_view> names;
    for (const auto& counter : counters->metrics) {
      CHECK(metrics_exporter::FindField(counter.field.name).has_value());
      CHECK(names.insert(counter.name).second);
    }
  }
  return 0;
}
