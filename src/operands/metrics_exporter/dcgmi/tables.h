// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "operands/metrics_exporter/fields.h"

// What the exporter tells (operands/metrics_exporter/tool_pages.h), in the forms that scripts read
// of NVIDIA's dcgmi. Of a page of another form what is missing is left out.
namespace gantry::dcgmi {

std::string DiscoveryText(const Json& devices);

// The two lines above rows of dmon. `ids` as on the command line.
std::string DmonHeader(const std::string& ids);
// A line for each row; of these GPUs, or of all if there are none. A value that is missing is
// "N/A".
std::string DmonRows(const Json& values, const std::set<unsigned>& gpus);
// A line for each field that dmon can print.
std::string FieldsText();

// Of the GPUs that are not healthy each watch that says so.
std::string HealthText(const Json& health);
std::string HealthJsonText(const Json& health);
// What is watched: everything.
std::string WatchesText();

}  // namespace gantry::dcgmi
