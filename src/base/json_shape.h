// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry {

// What a key holds.
enum class Shape {
  kAny,   // the caller reads it
  kFlag,  // true or false; also the words of YAML 1.1 for them: yes, no, on, off
  kText,  // a scalar; numbers and bools become strings, as written
  kMap,   // a map with the keys of `below`
  kMaps,  // a list of such maps
};

struct KnownKey {
  std::string_view name;
  Shape shape = Shape::kAny;
  std::span<const KnownKey> below = {};
};

// Reads a map by a table of its keys, in place: keys get the spelling of the table (as in Go's
// decoder, case does not matter), unknown keys and null values are removed. Returns the paths of
// the unknown keys ("core.noPublsh", "rule a.matchFeature"). kInvalid names the path: a value of
// another shape, or a duplicate key.
Result<std::vector<std::string>> Conform(Json& map, std::span<const KnownKey> keys,
                                         const std::string& path = "");

// "core.x: unknown key, has no effect", one sentence each.
std::vector<std::string> WithoutEffect(const std::vector<std::string>& unknown);

}  // namespace gantry
