// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

// The YAML that CDI documents use, as JSON values.
namespace gantry::container {

// One YAML document. Plain scalars become null, booleans and integers if they look like it,
// everything else strings. kInvalid with the line of a mistake, or if it is unreasonably large.
Result<Json> ParseYaml(std::string_view text);

// Block style, keys in their order, "---" in front; strings are quoted if a reader could take them
// for something else.
std::string YamlText(const Json& json);

}  // namespace gantry::container
