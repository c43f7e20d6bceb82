// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operands/metrics_exporter/counters.h"

namespace gantry::metrics_exporter {

// Fields that are read more or less often than the others.
struct WatchGroup {
  std::string path;  // in the file: "collections[1]"
  std::chrono::milliseconds interval;
  std::vector<std::string> fields;  // names, or patterns with * and ?
};

// What --config-file says: dcgm-exporter 4.8's YAML of version 1 or 2.
struct YamlConfig {
  std::optional<std::string> counters_file;
  std::optional<std::string> counters;  // as the text of such a file
  std::optional<bool> exporter_metrics;
  std::optional<std::chrono::milliseconds> interval;  // of all fields without a group
  std::vector<WatchGroup> groups;
  std::vector<std::string> no_effect;  // keys that only mean something to DCGM
};

// kInvalid names the key: an unknown one, a value of another type, a mistake.
Result<YamlConfig> ParseYamlConfig(std::string_view text);

// kInvalid: a group that matches no counter, or a counter that two groups match.
Status CheckGroups(const std::vector<WatchGroup>& groups, const Counters& counters);

}  // namespace gantry::metrics_exporter
