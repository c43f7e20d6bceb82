// SPDX-License-Identifier: Apache-2.0
// The protobuf messages with which a container runtime lists its sandboxes and containers.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "container/cri_starts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace gantry::container;
  const std::string_view message(reinterpret_cast<const char*>(bytes), size);
  const auto sandboxes = ParseCriSandboxes(message);
  const auto containers = ParseCriContainers(message);
  if (sandboxes && containers) {
    static_cast<void>(StartsUnderWay(*sandboxes, *containers, {}));
  }
  return 0;
}
