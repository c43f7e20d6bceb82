// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "policy/plugin_config.h"

namespace gantry::gpu {

// Whether GPUs can be shared so under the MIG strategy. kInvalid names the key: the device plugin
// and feature discovery both refuse such a configuration, and keep the one before.
Status CheckSharing(const policy::Sharing& sharing, policy::MigStrategy strategy);

}  // namespace gantry::gpu
