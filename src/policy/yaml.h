// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::policy {

// A YAML document as JSON: plain scalars become bools, integers, null or strings, quoted ones are
// strings, and "<<" merges maps. Empty input is null. kInvalid names line and column, also of a
// duplicate key. A document of more than 100,000 values (aliases count at each use) or 64 levels is
// rejected.
Result<Json> ParseYaml(std::string_view text);

// All documents of a YAML text, possibly none; an empty one is null.
Result<std::vector<Json>> ParseYamlDocuments(std::string_view text);

}  // namespace gantry::policy
