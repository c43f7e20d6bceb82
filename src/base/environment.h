// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gantry {

// The value of an environment variable of this process; nullopt: it is not set.
std::optional<std::string> EnvironmentVariable(const std::string& name);

// The same; `fallback` if it is not set or empty.
std::string EnvironmentOr(const std::string& name, std::string_view fallback);

}  // namespace gantry
