// SPDX-License-Identifier: Apache-2.0
// Small texts about a node's devices: mount lists of Tegra boards, the kernel module's words about
// a GPU, /proc/devices.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "container/csv_cdi.h"
#include "gpu/proc_gpus.h"
#include "operands/container_runtime/device_numbers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace gantry;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (const auto lines = container::ParseCsv(text)) {
    for (const container::CsvLine& line : *lines) {
      CHECK(line.path.starts_with('/'));
    }
  }
  const auto read = gpu::ParseGpuInformation(text);
  CHECK(!read || (read->gpu.minor >= 0 && read->gpu.minor < 256));
  static_cast<void>(container_runtime::PossibleNodes(text, text, {}));
  return 0;
}
