// SPDX-License-Identifier: Apache-2.0
// The protobuf message with which a container runtime answers a question for its status.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "container/cri_status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static_cast<void>(
      gantry::container::ParseCriStatus({reinterpret_cast<const char*>(bytes), size}));
  return 0;
}
