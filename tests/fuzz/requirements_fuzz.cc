// SPDX-License-Identifier: Apache-2.0
// NVIDIA_REQUIRE_* and NVIDIA_DRIVER_CAPABILITIES of an image.
#include <cstddef>
#include <cstdint>
#include <string>

#include "container/capabilities.h"
#include "operands/container_runtime/requirements.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace gantry;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const container_runtime::RequirementFacts facts = {
      {"cuda", "12.2"}, {"driver", "535.247.01"}, {"brand", "tesla"}, {"arch", "8.0"}};
  const Status met = container_runtime::CheckRequirements(
      container_runtime::RequirementsOf({"NVIDIA_REQUIRE_CUDA=" + text, "CUDA_VERSION=" + text}),
      facts);
  CHECK(met.has_value() || !met.error().message.empty());
  const auto capabilities = container::ParseCapabilities(text, {});
  CHECK(!capabilities || capabilities->bits <= container::Capabilities::kAll);
  return 0;
}
