// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry {

// The value of an option on another program's command line, given as two words or with "="; the
// last one counts, as in Go's programs. Empty if absent.
std::string OptionValue(const std::vector<std::string>& words,
                        const std::vector<std::string>& names);

}  // namespace gantry
