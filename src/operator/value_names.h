// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::gpu_operator {

// A list of names in JSON, from the chart to the operator; empty: none. kInvalid otherwise.
Result<std::vector<std::string>> ParseNames(std::string_view text);

// Names of all values of the chart, from its known-values.json: "driver.env[].name".
std::vector<std::string> KnownValues(const Json& file);

// The known value that was probably meant by an unknown one; empty if none is near.
std::string NearestValue(std::string_view name, const std::vector<std::string>& known);

// "driver.verison (driver.version?)", or the name alone.
std::vector<std::string> WithNearest(const std::vector<std::string>& names,
                                     const std::vector<std::string>& known);

}  // namespace gantry::gpu_operator
