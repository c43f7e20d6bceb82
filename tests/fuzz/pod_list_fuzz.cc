// SPDX-License-Identifier: Apache-2.0
// The kubelet's list of pods and their devices, and what of it concerns GPUs.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpu/pod_gpus.h"
#include "gpu/pod_list.h"
#include "gpu/testing/gpus.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace gantry;
  const auto pods = gpu::ParsePodList(std::string_view(reinterpret_cast<const char*>(bytes), size));
  if (pods) {
    const auto gpus = gpu::Gpus(2);
    for (const auto& [part, holders] : gpu::HoldersOf(*pods, gpus, {})) {
      CHECK(part.uuid == gpus[0].uuid || part.uuid == gpus[1].uuid);
      CHECK(!holders.empty());
    }
  }
  return 0;
}
