// SPDX-License-Identifier: Apache-2.0
// Which products are not GPUs for containers? The two names that NVIDIA's device plugin, feature
// discovery and container toolkit leave out.
#include "gpu/products.h"

#include <algorithm>
#include <array>

namespace gantry::gpu {
namespace {

constexpr std::array<std::string_view, 2> kDisplays{"DGX Display", "NVIDIA DGX Display"};

}  // namespace

bool IsForContainers(std::string_view product) {
  return std::ranges::find(kDisplays, product) == kDisplays.end();
}

}  // namespace gantry::gpu
