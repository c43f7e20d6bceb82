// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "operator/desired/context.h"
#include "operator/driver_pools.h"
#include "policy/nvidia_driver.h"

namespace gantry::gpu_operator {

// A NVIDIADriver, as input for its objects.
struct NamedDriver {
  std::string name;
  std::string uid;
  policy::NvidiaDriver spec;
};

// Its objects for one pool of its nodes, the DaemonSet last; the context's policy only has the
// hosts' settings. kInvalid names the field.
Result<Objects> NvidiaDriverObjects(const Context& context, const NamedDriver& driver,
                                    const DriverPool& pool);

// The objects that the pools of all NVIDIADrivers share; `owners` are references to them.
Objects NvidiaDriversShare(const Context& context, const Json& owners);

// The ConfigMaps that it names whose existence or keys matter to the objects.
std::set<std::string> NamedConfigMaps(const policy::NvidiaDriver& driver);

}  // namespace gantry::gpu_operator
