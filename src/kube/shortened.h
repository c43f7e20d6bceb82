// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::kube {

// At most `limit` bytes of a text; a cut leaves no half of a UTF-8 character, which no JSON could
// hold.
std::string Shortened(std::string_view text, size_t limit);

}  // namespace gantry::kube
