// SPDX-License-Identifier: Apache-2.0
// Which claims have a GPU that another program of the node waits for?
#include "operands/dra_driver/owned_devices.h"

#include <algorithm>

#include "policy/names.h"

namespace gantry::dra_driver {

std::set<std::string> DevicesOn(const gpu::Owners& owners, const gpu::GpuSet& set,
                                const Devices& devices) {
  std::set<std::string> names;
  for (const Device& device : devices.devices) {
    if (owners.contains(set.gpus[device.gpu_at].uuid)) {
      names.insert(device.name);
    }
  }
  return names;
}

bool HasDevice(const Json& claim, const std::string& pool, const std::set<std::string>& names) {
  return std::ranges::any_of(
      ListAt(claim, "status.allocation.devices.results"), [&](const Json& result) {
        return TextAt(result, "driver") == names::kGpuDraDriver && TextAt(result, "pool") == pool &&
               names.contains(TextAt(result, "device"));
      });
}

}  // namespace gantry::dra_driver
