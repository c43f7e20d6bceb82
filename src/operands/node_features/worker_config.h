// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "operands/node_features/labels.h"

namespace gantry::node_features {

// What of an NFD worker's configuration (nfd-worker.conf) decides anything here.
struct WorkerConfig {
  LabelOptions labels;
  bool no_publish = false;
  std::string kernel_config;  // sources.kernel.kconfigFile
};

// Lays a configuration (YAML or JSON) over what is there. Lists that it names replace what was.
// kInvalid names the key. Keys without meaning here are accepted: ownerRefs and noOwnerRefs (the
// Node owns the object), sleepInterval (nothing is polled), klog.
Status Overlay(std::string_view text, WorkerConfig& config);

}  // namespace gantry::node_features
