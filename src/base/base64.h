// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry {

// The bytes of a base64 string (RFC 4648, section 4); white space and line ends are skipped.
// kInvalid if it is not base64.
Result<std::string> DecodeBase64(std::string_view text);

}  // namespace gantry
