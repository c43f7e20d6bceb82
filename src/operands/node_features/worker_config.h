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

// What of an NFD worker's configuration (nfd-worker.conf) decides anything here.
struct WorkerConfig {
  LabelOptions labels;
  bool no_publish = false;
  std::string kernel_config;  // sources.kernel.kconfigFile
  // The node is looked at again after this long; nothing: only when something happens.
  std::optional<std::chrono::nanoseconds> sleep_interval = std::chrono::minutes(1);
  // What has no effect and the rules that are left out, one sentence each, naming the key.
  std::vector<std::string> warnings = {};
};

// "60s", as core.sleepInterval has it: zero and less, and "infinite", are nothing; less than a
// second is a second.
Result<std::optional<std::chrono::nanoseconds>> ParseSleepInterval(std::string_view text);

// Lays a configuration (YAML or JSON) over what is there. Lists that it names replace what was.
// kInvalid names the key. Keys without meaning here are accepted: ownerRefs and noOwnerRefs
// (nobody owns the object), klog. Unknown keys are a warning, but for those of a rule, which is
// left out.
Status Overlay(std::string_view text, WorkerConfig& config);

}  // namespace gantry::node_features
