// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "policy/plugin_config.h"

namespace gantry::gpu {

// Whether this sharing works with the MIG strategy. kInvalid names the key: the device plugin and
// feature discovery both reject such a configuration, and keep the previous one.
Status CheckSharing(const policy::Sharing& sharing, policy::MigStrategy strategy);

}  // namespace gantry::gpu
