// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "operator/desired/context.h"

namespace gantry::gpu_operator {

// The DaemonSet that restores every GPU node; its pods are Ready when that is done.
Json HostCleanup(const Context& context);

}  // namespace gantry::gpu_operator
