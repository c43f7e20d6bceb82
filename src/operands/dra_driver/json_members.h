// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::dra_driver {

// The members of a JSON object by key, each value as its text in the document, which stays byte for
// byte what another program wrote. The texts live as long as `object`. kInvalid: it is no JSON
// object; of a repeated key the last value counts.
Result<std::map<std::string, std::string_view>> MembersOf(std::string_view object);

// A string as Go's encoding/json writes it: also <, >, & and U+2028, U+2029 are escaped.
std::string GoString(std::string_view text);

}  // namespace gantry::dra_driver
