// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace gantry::policy {

struct ConfigChoice {
  std::string label;                   // value of the node's label; empty: it has none
  std::string default_name;            // DEFAULT_CONFIG; empty: none
  std::vector<std::string> fallbacks;  // FALLBACK_STRATEGIES: named, single, empty
};

// Which of the files of a configuration folder a node uses: the one its label names, else the
// default, else by the fallbacks in their order: `named` is the file called "default", `single` the
// only file, `empty` no configuration (an empty result). `files` are the folder's entries; those
// that begin with ".." (a ConfigMap volume's own) do not count. kInvalid, with the request, its
// source and the files, if a named file is missing, a fallback is unknown, or nothing is left to
// choose.
Result<std::string> ChooseConfig(const ConfigChoice& choice, const std::vector<std::string>& files);

}  // namespace gantry::policy
