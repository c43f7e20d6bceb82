// SPDX-License-Identifier: Apache-2.0
// Any bytes as the device plugin's configuration: an error or a configuration whose promises hold.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "policy/plugin_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace gantry;
  const auto config = policy::ParsePluginConfig({reinterpret_cast<const char*>(bytes), size});
  if (!config) {
    CHECK(config.error().kind == ErrorKind::kInvalid);
    return 0;
  }
  for (const auto& shared : config->sharing.resources) {
    CHECK(shared.replicas >= 2);
    CHECK(shared.name.starts_with("nvidia.com/") && shared.name.size() <= 63);
    CHECK(config->sharing.ReplicasOf(shared.name) >= shared.replicas);
  }
  return 0;
}
