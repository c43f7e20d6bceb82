// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "operands/dra_driver/devices.h"

namespace gantry::dra_driver {

// Whose slices they are.
struct SliceOwner {
  std::string node;
  std::string node_uid;
};

// What brings the API server's slices to the wanted ones, in this order: what is deleted first
// makes a pool incomplete, not wrong.
struct SlicePlan {
  std::vector<Json> obsolete;  // stored slices to delete
  std::vector<Json> replaced;  // stored slices with their new contents
  std::vector<Json> created;   // new ones

  [[nodiscard]] bool empty() const {
    return obsolete.empty() && replaced.empty() && created.empty();
  }
};

// `devices` in their order; without any there is still one slice, which says that the driver runs.
// `stored`: the slices of this driver and node. Equal ones stay as they are.
SlicePlan PlanSlices(const SliceOwner& owner, const std::vector<Device>& devices,
                     std::vector<Json> stored);

}  // namespace gantry::dra_driver
