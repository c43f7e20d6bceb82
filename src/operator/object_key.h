// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>

#include "base/json.h"

namespace gantry::gpu_operator {

// Identifies an object, across kinds.
struct ObjectKey {
  std::string kind;
  std::string ns;  // empty for kinds without a namespace
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};
ObjectKey KeyOfObject(const Json& object);

// The kept content of a stored object, as JSON: everything but its status and the metadata that the
// API server writes.
std::string ContentOf(const Json& object);

}  // namespace gantry::gpu_operator
