// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "agent/own_node.h"
#include "operands/device_plugin/flags.h"

namespace gantry::device_plugin {

// The label of the own Node that names the configuration.
class ConfigLabel {
 public:
  // Both outlive it.
  ConfigLabel(const Flags& flags, agent::OwnNode& own_node) : flags_(flags), own_node_(own_node) {}

  // Whether the value is known, or not needed; the first call begins to watch the label. A label
  // that can't be watched counts as missing. Does not block.
  bool IsKnown();
  // Call it when `own_node.label_fd()` is readable. True: the value is new or changed.
  bool Take();
  // nullopt: the Node has no such label, or it is not known.
  [[nodiscard]] const std::optional<std::string>& value() const { return value_; }

 private:
  const Flags& flags_;
  agent::OwnNode& own_node_;
  bool known_ = false;
  std::optional<std::string> value_;
};

}  // namespace gantry::device_plugin
