// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace gantry::gpu_operator {

// FNV-1a, 32 bits, in decimal, as in NVIDIA's names and annotations (these hash another text).
std::string HashText(std::string_view text);
std::string Hash(const Json& object);
// The hash of a text for names, in Kubernetes' encoding of numbers.
std::string ShortHash(std::string_view text);
// The two joined. If that is too long for a name, the first is cut, and the hash of `identity`
// keeps it distinct.
std::string FitName(const std::string& name, const std::string& suffix, size_t longest,
                    std::string_view identity);

}  // namespace gantry::gpu_operator
