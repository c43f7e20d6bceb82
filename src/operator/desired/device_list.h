// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "operator/desired/pod.h"

namespace gantry::gpu_operator {

// The device plugin's DEVICE_LIST_STRATEGY, unless the user sets it.
std::string DeviceListStrategy(const Context& context);

// Without CDI: makes Gantry's container toolkit accept the device plugin's choice.
void BelieveDeviceList(const policy::ClusterPolicy& policy, DaemonSet& toolkit);

}  // namespace gantry::gpu_operator
