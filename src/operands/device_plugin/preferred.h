// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kubelet/device_plugin.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// Which devices should go together. The answer has `size` devices and holds the required ones; it
// is empty, so that the kubelet takes what it likes, when the request can't be met.
//
// Whole GPUs that nobody shares: the set with the best connections; of equals, the one that leaves
// the best connected rest; of equals, the lowest indices. Exhaustive up to 16 GPUs.
// Shares and MIG devices: from the GPUs with the least in use (distributed) or the most (packed).
// `scores` are of the GPUs of the resource's units, in their order.
std::vector<std::string> Prefer(const Resource& resource, const PairScores& scores,
                                SharedPolicy policy, const kubelet::PreferredRequest& request);

// The sum over all pairs, of positions in `scores`.
int SetScore(const PairScores& scores, const std::vector<size_t>& set);

}  // namespace gantry::device_plugin
