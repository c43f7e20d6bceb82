// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

// YAML as far as CDI documents use it, as values of JSON.
namespace gantry::container {

// One YAML document. Plain scalars become null, booleans and whole numbers where they look so, all
// else text. kInvalid with the line of a mistake, or if it is unreasonably big.
Result<Json> ParseYaml(std::string_view text);

// Block style, keys in their order, "---" in front; texts are quoted where a reader could take them
// for something else.
std::string YamlText(const Json& json);

}  // namespace gantry::container
