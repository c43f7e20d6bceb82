// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::driver {

// The first error in the output of make and the compiler, as one line of at most 300 bytes: of a
// compiler or linker, else make's own, else the last line. `folder` is the build folder; it is
// removed from the start of file names. Empty for an empty log.
std::string FirstError(std::string_view log, std::string_view folder);

}  // namespace gantry::driver
