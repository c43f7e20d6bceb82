// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>

#include "base/json.h"

namespace gantry::gpu_operator {

// Which object, across kinds.
struct ObjectKey {
  std::string kind;
  std::string ns;  // empty for kinds without a namespace
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};
ObjectKey KeyOfObject(const Json& object);

// What is kept of an object as it is in the cluster, as JSON text: all but its status and the
// metadata that the API server writes.
std::string ContentOf(const Json& object);

}  // namespace gantry::gpu_operator
