// SPDX-License-Identifier: Apache-2.0
// Which driver do containers get? A driver root given by flag comes before the usual search order,
// but a usable driver elsewhere is better than none.
#include "operands/container_toolkit/driver_choice.h"

#include <optional>

#include "container/driver_files.h"

namespace gantry::container_toolkit {
namespace {

// The places with the given root instead of a driver container's; nothing if none is given, or if
// the usual order begins with it.
std::optional<host::DriverPlaces> NamedPlaces(const Flags& flags,
                                              const host::DriverPlaces& places) {
  const std::string root = container::WithoutSlashes(flags.driver_root);
  if (root.empty() || root == "/") {
    return std::nullopt;
  }
  host::DriverPlaces named = places;
  named.driver_dir = root;
  // Only a driver container's root needs a mark of completeness.
  named.container_ready =
      places.container_ready || root != container::WithoutSlashes(places.driver_dir);
  return named;
}

host::DriverVerdict Judge(const Flags& flags, const host::DriverPlaces& places) {
  if (const auto named = NamedPlaces(flags, places)) {
    host::DriverObservation seen = host::ObserveDriver(*named);
    seen.host = {};
    seen.wsl = false;
    if (auto verdict = host::JudgeDriver(seen); verdict.kind != host::DriverKind::kNone) {
      return verdict;
    }
  }
  return host::JudgeDriver(host::ObserveDriver(places));
}

}  // namespace

host::DriverVerdict ChooseDriver(const Flags& flags, const host::DriverPlaces& places) {
  host::DriverVerdict verdict = Judge(flags, places);
  if (!flags.dev_root.empty()) {
    verdict.dev_root = flags.dev_root;
  }
  return verdict;
}

std::vector<std::string> DriverPathsToWatch(const Flags& flags, const host::DriverPlaces& places) {
  std::vector<std::string> paths = host::DriverPathsToWatch(places);
  if (const auto named = NamedPlaces(flags, places)) {
    const std::vector<std::string> more = host::DriverPathsToWatch(*named);
    paths.insert(paths.end(), more.begin(), more.end());
  }
  return paths;
}

}  // namespace gantry::container_toolkit
