// SPDX-License-Identifier: Apache-2.0
// Which configuration does the Node's label name? Read from the API server only if there is a
// folder to choose from.
#include "operands/device_plugin/config_label.h"

#include <utility>

#include "base/log.h"

namespace gantry::device_plugin {

bool ConfigLabel::IsKnown() {
  if (known_ || flags_.config_dir.empty() || flags_.node_name.empty()) {
    return true;
  }
  if (!own_node_.watches()) {
    log::Info("reading label {} of node {}", flags_.node_label, flags_.node_name);
    if (const Status watching = own_node_.WatchLabel(flags_.node_label); !watching) {
      log::Warning("the label counts as missing: {}", watching.error().message);
      known_ = true;
    }
  }
  return known_;
}

bool ConfigLabel::Take() {
  auto seen = own_node_.TakeLabel();
  if (!seen) {
    return false;
  }
  known_ = true;
  value_ = *std::move(seen);
  return true;
}

}  // namespace gantry::device_plugin
