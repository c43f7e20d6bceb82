// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::kube {

// At most `limit` bytes of a string, never cut inside a UTF-8 character, which JSON could not hold.
std::string Shortened(std::string_view text, size_t limit);

}  // namespace gantry::kube
