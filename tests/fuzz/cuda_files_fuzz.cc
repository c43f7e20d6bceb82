// SPDX-License-Identifier: Apache-2.0
// What a CUDA toolkit of anybody says of itself, and mount lists.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "operands/cuda_toolkit/cuda_version.h"
#include "operands/cuda_toolkit/removal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace gantry;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const auto& runtimes : {Split(text, '\n'), {"libcudart.so.12.4.127"}}) {
    if (const auto version = cuda_toolkit::ToolkitVersion({text, runtimes, {}}, "12.4")) {
      CHECK(version->starts_with("12.4") && version->find('/') == std::string::npos);
    }
  }
  const auto mounted = cuda_toolkit::MountedCopies(text, {"12.4.1-aa", ""});
  CHECK(mounted.size() <= 2);
  return 0;
}
