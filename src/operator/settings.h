// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/release.h"
#include "operator/rule_set.h"
#include "operator/served_fields.h"

namespace gantry::gpu_operator {

// The operator's environment, read once at its start.
struct Settings {
  std::string ns = {};
  Release release = {};
  bool node_features = true;       // whether Gantry's may run
  std::string startup_taint = {};  // key of the taint of startup_taint.h; empty: none
  MasterConfig master = {};
  // The chart's unknown values, each with the one that was probably meant, and known ones without
  // effect.
  std::vector<std::string> values_not_known = {};
  std::vector<std::string> values_not_followed = {};
  std::vector<OwnDefinition> definitions = {};  // as in the image
};

}  // namespace gantry::gpu_operator
