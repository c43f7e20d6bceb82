// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

// For files whose keys are all known. All of it pure.
namespace gantry::mig_manager {

// kInvalid: "<path>: <reason>".
std::unexpected<Error> Refused(const std::string& path, std::string_view reason);

// The path of the map's first key that is not known; nullopt: all are. `path` is the map's own,
// empty for the whole file.
std::optional<std::string> UnknownKey(const Json& map, const std::string& path,
                                      std::initializer_list<std::string_view> known);

}  // namespace gantry::mig_manager
