// SPDX-License-Identifier: Apache-2.0
// What do this process' environment variables say?
#include "base/environment.h"

#include <cstdlib>

namespace gantry {

std::optional<std::string> EnvironmentVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string EnvironmentOr(const std::string& name, std::string_view fallback) {
  const std::string value = EnvironmentVariable(name).value_or("");
  return value.empty() ? std::string(fallback) : value;
}

}  // namespace gantry
