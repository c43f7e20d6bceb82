// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace gantry::node_features {

using LabelMap = std::map<std::string, std::string>;

// A file in NFD's features.d or custom.d, by which users label the node.
struct LocalFile {
  std::string name;
  std::string text;
};

struct LocalFeatures {
  LabelMap labels;  // keys as written, with or without a prefix
  std::map<std::string, std::string, std::less<>> features;  // the same, for rules
  // When the first valid line expires.
  std::optional<WallTime> next_expiry;
  std::vector<std::string> warnings;
};

// The labels and features that the files request, in the order of their names; a later file wins.
// Lines are `key` (then the value is "true"), `key=value`, comments, and NFD's directives, which
// begin with exactly "# +": `# +expiry-time=<RFC 3339>` (until the next one that is a time),
// `# +no-label` (the next line's key is not a label, whatever earlier lines say) and
// `# +no-feature` (the same for features).
LocalFeatures ReadLocalFiles(std::vector<LocalFile> files, WallTime now);

}  // namespace gantry::node_features
