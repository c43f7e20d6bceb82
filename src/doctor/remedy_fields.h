// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::doctor {

// A remedy that names an operand's section, in the fields of the chart: the operator has no
// section.
std::string ForOperator(std::string remedy);

// The same in the fields that the DaemonSet or Deployment of that name is configured by.
std::string ForApp(std::string_view app, std::string remedy);

}  // namespace gantry::doctor
