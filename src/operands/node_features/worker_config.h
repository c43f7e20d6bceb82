// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operands/node_features/labels.h"

namespace gantry::node_features {

// The fields of an NFD worker's configuration (nfd-worker.conf) that have an effect here.
struct WorkerConfig {
  LabelOptions labels;
  bool no_publish = false;
  std::string kernel_config;  // sources.kernel.kconfigFile
  // The interval of inspections; nothing: only after events.
  std::optional<std::chrono::nanoseconds> sleep_interval = std::chrono::minutes(1);
  // Keys without effect and left out rules, one sentence each, naming the key.
  std::vector<std::string> warnings = {};
};

// "60s", as in core.sleepInterval: zero and less, and "infinite", are nothing; the minimum is a
// second.
Result<std::optional<std::chrono::nanoseconds>> ParseSleepInterval(std::string_view text);

// Merges a configuration (YAML or JSON) into `config`. Its lists replace the present ones. kInvalid
// names the key. Keys without meaning here are accepted: ownerRefs and noOwnerRefs (the object has
// no owner), klog. Unknown keys are a warning, except in a rule, which is then left out.
Status Overlay(std::string_view text, WorkerConfig& config);

}  // namespace gantry::node_features
