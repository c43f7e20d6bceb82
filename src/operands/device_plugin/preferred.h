// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// Chooses devices that belong together: `size` devices, including the required ones. As in NVIDIA's
// plugin, the kind of devices decides whether an impossible request gives a result or an error:
//
// `scores` are of the GPUs of the resource's units, in order.
Result<std::vector<std::string>> Prefer(const Resource& resource, const gpu::PairScores& scores,
                                        SharedPolicy policy,
                                        const kubelet::PreferredRequest& request);

// The sum over all pairs, of positions in `scores`.
int SetScore(const gpu::PairScores& scores, const std::vector<size_t>& set);

}  // namespace gantry::device_plugin
