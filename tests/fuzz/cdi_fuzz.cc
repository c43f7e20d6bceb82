// SPDX-License-Identifier: Apache-2.0
// CDI documents of others, JSON or YAML. What was read can be written, and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "container/cdi.h"

namespace gantry::container {
namespace {

void Fuzz(std::string_view text) {
  const auto spec = ParseCdi(text);
  if (!spec) {
    CHECK(!spec.error().message.empty());
    return;
  }
  const std::string json = CdiText(*spec);
  const auto again = ParseCdi(json);
  CHECK(again.has_value());
  CHECK(CdiText(*again) == json);
  CHECK(ParseCdi(CdiYaml(*again)).has_value());
}

}  // namespace
}  // namespace gantry::container

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::container::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
