// SPDX-License-Identifier: Apache-2.0
// How does a number of NVML become one of DCGM? By unit, and by what DCGM leaves out.
#include "operands/metrics_exporter/convert.h"

#include <cmath>

namespace gantry::metrics_exporter {
namespace {

constexpr double kHottest = 200;
constexpr double kInUse = 90;  // percent

// mantissa * 10^-exponent, packed (nvml.h, NVML_NVLINK_BER_*).
double BitErrorRatio(double packed) {
  const auto bits = static_cast<uint64_t>(packed);
  return static_cast<double>(bits >> 8 & 0xf) * std::pow(10, -static_cast<double>(bits & 0xff));
}

}  // namespace

std::optional<nvml::Value> Convert(const Field& field, const nvml::Answer& answer) {
  if (!answer) {
    const bool no_sensor =
        field.shape == Shape::kMemoryTemperature && answer.error() == ErrorKind::kUnsupported;
    return no_sensor ? std::optional<nvml::Value>(0.0) : std::nullopt;
  }
  if (field.shape == Shape::kText) {
    return *answer;
  }
  const double* said = std::get_if<double>(&*answer);
  if (said == nullptr || !std::isfinite(*said)) {
    return std::nullopt;
  }
  const double value = *said * field.factor;
  switch (field.shape) {
    case Shape::kWhole:
      return std::trunc(value);
    case Shape::kTemperature:
    case Shape::kMemoryTemperature:
      return *said > kHottest ? std::nullopt : std::optional<nvml::Value>(value);
    case Shape::kBer:
      return BitErrorRatio(*said) * field.factor;
    default:
      return value;
  }
}

std::optional<nvml::Value> LinkRate(const std::optional<LinkCounter>& before,
                                    const LinkCounter& now) {
  if (!before || now.kib < before->kib || now.at <= before->at) {
    return std::nullopt;
  }
  const double seconds = std::chrono::duration<double>(now.at - before->at).count();
  return std::trunc((now.kib - before->kib) / seconds / 1000);
}

bool IsFrozen(const nvml::Answer& graphics, const nvml::Answer& utilization) {
  return graphics && std::get<double>(*graphics) == 0 && utilization &&
         std::get<double>(*utilization) > kInUse;
}

}  // namespace gantry::metrics_exporter
