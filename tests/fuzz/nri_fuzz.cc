// SPDX-License-Identifier: Apache-2.0
// What stands on the NRI socket: frames, ttrpc and protobuf of whoever listens there. In one piece
// or in two, the answer is the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "container/nri.h"

namespace gantry::container {
namespace {

NriSession Session() {
  return {"fuzz", "10", [](const NriContainer& container) {
            return std::vector<std::string>{container.name + container.pod_namespace};
          }};
}

void Fuzz(std::string_view bytes) {
  NriSession whole = Session();
  const auto wanted = whole.Take(bytes);
  NriSession halves = Session();
  const auto first = halves.Take(bytes.substr(0, bytes.size() / 2));
  const auto second = first ? halves.Take(bytes.substr(bytes.size() / 2)) : first;
  CHECK(wanted.has_value() == (first.has_value() && second.has_value()));
  if (wanted) {
    CHECK(*wanted == *first + *second);
  }
}

}  // namespace
}  // namespace gantry::container

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::container::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
