// SPDX-License-Identifier: Apache-2.0
// A file of crio.conf.d, and what `crio config` prints: with the drop-in that is planned, nothing
// is missing.
#include <cstddef>
#include <cstdint>
#include <string>

#include "container/crio.h"

namespace gantry::container {
namespace {

void Fuzz(const std::string& text) {
  static_cast<void>(CrioHandlers(text));
  CrioWish wish;
  wish.present = {text};
  static_cast<void>(CrioRuntimePaths(wish.present));
  const auto plan = PlanCrio(wish);
  if (plan && !plan->drop_in_text.empty()) {
    wish.present.push_back(plan->drop_in_text);
    const auto with = PlanCrio(wish);
    CHECK(with.has_value());
    CHECK(with->drop_in_text.empty());
  }
}

}  // namespace
}  // namespace gantry::container

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::container::Fuzz(std::string(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
