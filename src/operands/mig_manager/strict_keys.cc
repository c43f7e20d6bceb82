// SPDX-License-Identifier: Apache-2.0
// Which key of a file is not known? It is refused, because a mistyped key would count as a missing
// one.
#include "operands/mig_manager/strict_keys.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::mig_manager {

std::unexpected<Error> Refused(const std::string& path, std::string_view reason) {
  return Fail(ErrorKind::kInvalid, format("{}: {}", path, reason));
}

std::optional<std::string> UnknownKey(const Json& map, const std::string& path,
                                      std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : map.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      return path.empty() ? key : format("{}.{}", path, key);
    }
  }
  return std::nullopt;
}

}  // namespace gantry::mig_manager
