// SPDX-License-Identifier: Apache-2.0
// Under which number does this node's driver have a field?
#include "nvml/field_number.h"

#include <nvml.h>

#include <charconv>
#include <utility>

namespace gantry::nvml {
namespace {

constexpr unsigned kFirstMoved = NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN;
constexpr unsigned kFirstOfSmoothing = NVML_FI_PWR_SMOOTHING_ENABLED;
constexpr unsigned kEnd = NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_RAMP_DOWN_HYST_VAL + 1;

// "580.159.04" is {580, 159}; {0, 0} if it is not a version.
std::pair<int, int> MajorAndMinor(std::string_view version) {
  std::pair<int, int> read{0, 0};
  const char* const end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, read.first);
  if (error != std::errc() || dot == end || *dot != '.' ||
      std::from_chars(dot + 1, end, read.second).ec != std::errc()) {
    return {0, 0};
  }
  return read;
}

}  // namespace

unsigned FieldNumber(unsigned field, std::string_view driver_version) {
  if (field < kFirstMoved || field >= kEnd) {
    return field;
  }
  const std::pair<int, int> version = MajorAndMinor(driver_version);
  if (version.first == 0 || (version >= std::pair(575, 0) && version < std::pair(580, 82))) {
    return field;
  }
  return field < kFirstOfSmoothing ? field + (kEnd - kFirstOfSmoothing)
                                   : field - (kFirstOfSmoothing - kFirstMoved);
}

}  // namespace gantry::nvml
