// SPDX-License-Identifier: Apache-2.0
// Which kernel module hands a device to virtual machines? vfio_pci takes any; some devices have a
// variant of it, which names them in its aliases (Linux, Documentation/driver-api/vfio.rst).
#include "operands/vfio_manager/variant.h"

#include <fnmatch.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace gantry::vfio_manager {
namespace {

constexpr std::string_view kAlias = "alias vfio_pci:";
constexpr std::string_view kBus = "pci:";

}  // namespace

std::string VfioModule(std::string_view modalias, std::string_view aliases) {
  std::string best = "vfio_pci";
  auto fewest = std::numeric_limits<std::ptrdiff_t>::max();
  if (!modalias.starts_with(kBus)) {
    return best;
  }
  const std::string device(Trim(modalias.substr(kBus.size())));
  while (!aliases.empty()) {
    const size_t end = aliases.find('\n');
    std::string_view line = aliases.substr(0, end);
    aliases.remove_prefix(end == std::string_view::npos ? aliases.size() : end + 1);
    if (!line.starts_with(kAlias)) {
      continue;
    }
    line.remove_prefix(kAlias.size());
    const size_t gap = line.find(' ');
    if (gap == std::string_view::npos) {
      continue;
    }
    const std::string pattern(line.substr(0, gap));
    const auto stars = std::ranges::count(pattern, '*');
    if (stars < fewest && fnmatch(pattern.c_str(), device.c_str(), FNM_NOESCAPE) == 0) {
      fewest = stars;
      best = Trim(line.substr(gap));
    }
  }
  return best;
}

}  // namespace gantry::vfio_manager
