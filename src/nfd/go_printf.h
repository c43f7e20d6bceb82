// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "nfd/go_template.h"

namespace gantry::nfd {

// As Go's fmt.Sprintf: flags, width, precision, argument indexes, and what it writes for a verb
// that does not fit its argument ("%!d(string=x)"). The result is at most a little longer than
// kLongestText.
std::string PrintFormatted(std::string_view pattern, std::span<const Value> arguments);

}  // namespace gantry::nfd
