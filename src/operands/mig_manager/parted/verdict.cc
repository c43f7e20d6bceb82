// SPDX-License-Identifier: Apache-2.0
// Are the GPUs as a configuration wants them, and could they be?
#include "operands/mig_manager/parted/verdict.h"

#include "base/json.h"
#include "base/text.h"

namespace gantry::mig_parted {
namespace {

std::string StateText(bool enabled, const std::map<std::string, unsigned>& devices) {
  return enabled
             ? format("MIG enabled with {}", devices.empty() ? "no devices" : Json(devices).dump())
             : "MIG disabled";
}

}  // namespace

Status AssertApplied(std::span<const nvml::MigGpu> gpus, const Layouts& layouts, bool mode_only) {
  for (size_t i = 0; i < gpus.size(); ++i) {
    const nvml::MigGpu& gpu = gpus[i];
    const std::optional<gpu::MigLayout>& layout = layouts[i];
    if (!layout.has_value()) {
      if (gpu.capable) {
        return Fail(
            ErrorKind::kConflict,
            format("GPU {} ({}): no entry of the configuration is about it", gpu.index, gpu.name));
      }
      continue;
    }
    const gpu::MigLayout& wanted = *layout;
    TRY_ASSIGN(const bool has, gpu::HasLayout(gpu, wanted, mode_only));
    if (!has) {
      return Fail(ErrorKind::kConflict, format("GPU {} ({}): {}, wanted is {}", gpu.index, gpu.name,
                                               StateText(gpu.enabled, gpu::MigDevicesOf(gpu)),
                                               StateText(wanted.enabled, wanted.devices)));
    }
  }
  return {};
}

Status AssertValid(std::span<const nvml::MigGpu> gpus, const Layouts& layouts) {
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (const std::optional<gpu::MigLayout>& layout = layouts[i]; layout.has_value()) {
      nvml::MigGpu empty = gpus[i];
      empty.instances.clear();
      TRY(gpu::PlanMig(empty, *layout));
    }
  }
  return {};
}

}  // namespace gantry::mig_parted
