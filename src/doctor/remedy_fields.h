// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::doctor {

// A remedy for an operand's section, with the chart's fields instead: the operator has no section.
std::string ForOperator(std::string remedy);

// The same with the fields that configure the DaemonSet or Deployment of that name.
std::string ForApp(std::string_view app, std::string remedy);

}  // namespace gantry::doctor
