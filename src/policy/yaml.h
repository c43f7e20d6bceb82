// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::policy {

// A YAML document as JSON: plain scalars become bools, whole numbers, null or texts, quoted ones
// stay texts, and "<<" merges maps. An empty text is null. kInvalid names line and column, of a key
// that stands twice too: which of the two counts, nobody can tell. A document of more than
// 100,000 values (aliases count as often as they are used) or 64 levels is refused.
Result<Json> ParseYaml(std::string_view text);

// All documents of a YAML text, which may be none; an empty one is null.
Result<std::vector<Json>> ParseYamlDocuments(std::string_view text);

}  // namespace gantry::policy
