// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "operator/desired/context.h"
#include "operator/desired/pod.h"

namespace gantry::gpu_operator {

inline constexpr std::string_view kMigManager = "nvidia-mig-manager";

// Mounts the table of layouts into the pods of a MIG manager, Gantry's or NVIDIA's. The ConfigMap
// that migManager.config.name names is the only table: the variable CONFIG_FILE has its path.
// Without one the default table is added to `objects`, and the variable `default_variable` has its
// path.
void AddMigLayouts(const Context& context, std::string_view default_variable, Objects& objects,
                   DaemonSet& set);

}  // namespace gantry::gpu_operator
