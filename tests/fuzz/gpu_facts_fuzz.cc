// SPDX-License-Identifier: Apache-2.0
// What GPU feature discovery reads besides the driver: PCI configuration space (a hypervisor writes
// the vGPU capability), sysfs `resource`, the PCI database, the machine type's file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "gpu/vfio.h"
#include "gpu/vgpu.h"
#include "operands/gpu_features/facts.h"
#include "operands/gpu_features/resource_labels.h"

namespace gantry::gpu_features {
namespace {

void Fuzz(std::string_view text) {
  if (const auto host = gpu::FindVgpuHost(text); host.has_value()) {
    CHECK(host->driver_version.size() <= 10 && host->driver_branch.size() <= 10);
  }
  const uint64_t memory = gpu::AddressableMemory(text);
  CHECK((memory & (memory - 1)) == 0);
  gpu::NameInPciIds(text, 0x10de, 0x20b2);
  const std::string value = LabelValue(text, "-SHARED");
  CHECK(value.size() <= 63);
  CHECK(LabelValue(value) == value);
  if (const auto json = ParseJson(text); json.has_value()) {
    if (const auto facts = FactsFromJson(*json); facts.has_value()) {
      GpuLabels(*facts,
                {.mig_strategy = policy::MigStrategy::kMixed, .sharing = {}, .timestamp = 1});
      GpuLabels(*facts,
                {.mig_strategy = policy::MigStrategy::kSingle, .sharing = {}, .timestamp = 1});
    }
  }
}

}  // namespace
}  // namespace gantry::gpu_features

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::gpu_features::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
