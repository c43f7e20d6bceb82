// SPDX-License-Identifier: Apache-2.0
// config.toml as an administrator wrote it; what could be read can still be read with a key set.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {
namespace {

void Fuzz(std::string_view text) {
  const auto config = ParseRuntimeConfig(text);
  const auto set = SetConfigKey(std::string(text), "nvidia-container-runtime.mode", "cdi", ":");
  if (config && set) {
    const auto after = ParseRuntimeConfig(*set);
    CHECK(after.has_value() && after->mode == "cdi");
    CHECK(after->accept_environment == config->accept_environment);
  }
}

}  // namespace
}  // namespace gantry::container_runtime

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::container_runtime::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
