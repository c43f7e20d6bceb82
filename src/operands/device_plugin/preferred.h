// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// Which devices should go together. The answer has `size` devices and holds the required ones. As
// with NVIDIA's plugin, a request that can't be met has an answer or an error by what is asked of:
//
// Whole GPUs that nobody shares: the set with the best connections; of equals, the one that leaves
// the best connected rest; of equals, the lowest indices. Exhaustive up to 16 GPUs. kInvalid: a
// device that is not known. Empty, so that the kubelet takes what it likes: the numbers don't fit.
// Shares and MIG devices: from the GPUs with the least in use (distributed) or the most (packed).
// kInvalid: too few are available.
// `scores` are of the GPUs of the resource's units, in their order.
Result<std::vector<std::string>> Prefer(const Resource& resource, const gpu::PairScores& scores,
                                        SharedPolicy policy,
                                        const kubelet::PreferredRequest& request);

// The sum over all pairs, of positions in `scores`.
int SetScore(const gpu::PairScores& scores, const std::vector<size_t>& set);

}  // namespace gantry::device_plugin
