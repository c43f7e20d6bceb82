// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/release.h"
#include "operator/rule_set.h"
#include "operator/served_fields.h"

namespace gantry::gpu_operator {

// What the operator's environment says, read once at its start.
struct Settings {
  std::string ns = {};
  Release release = {};
  bool node_features = true;       // whether ours may run
  std::string startup_taint = {};  // key of the taint of startup_taint.h; empty: none
  MasterConfig master = {};
  // Values of the chart that it does not know, each with the one that was probably meant, and those
  // that are known and not followed.
  std::vector<std::string> values_not_known = {};
  std::vector<std::string> values_not_followed = {};
  std::vector<OwnDefinition> definitions = {};  // as the image has them
};

}  // namespace gantry::gpu_operator
