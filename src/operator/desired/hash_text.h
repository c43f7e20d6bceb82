// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace gantry::gpu_operator {

// FNV-1a, 32 bits, in decimal, as NVIDIA's names and annotations hold it (these over another text).
std::string HashText(std::string_view text);
std::string Hash(const Json& object);
// The hash of a text as it stands in names, as Kubernetes writes numbers there.
std::string ShortHash(std::string_view text);
// The two joined; where that is longer than a name may be, the first is cut, and the hash of
// `identity` tells it from another that is cut to the same.
std::string FitName(const std::string& name, const std::string& suffix, size_t longest,
                    std::string_view identity);

}  // namespace gantry::gpu_operator
