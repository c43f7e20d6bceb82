// SPDX-License-Identifier: Apache-2.0
// containerd's root file as an administrator or a distribution wrote it: what is planned for it is
// TOML again, is taken out again to the last byte, and is not planned twice.
#include <cstddef>
#include <cstdint>
#include <string>

#include "container/containerd.h"
#include "container/containerd_layout.h"
#include "container/containerd_reading.h"

namespace gantry::container {
namespace {

void Fuzz(const std::string& text) {
  LayoutOf({.root_path = "/etc/containerd/config.toml",
            .root_text = text,
            .asked_root = "",
            .asked_drop_in = ""});
  static_cast<void>(HandlersInDump(text));
  for (const ContainerdVersion version : {ContainerdVersion{1, 7}, ContainerdVersion{2, 4}}) {
    ContainerdWish wish;
    wish.version = version;
    wish.root_text = text;
    wish.imported = {text};
    static_cast<void>(LowLevelRuntimes(wish));
    const auto plan = PlanContainerd(wish);
    if (!plan) {
      continue;
    }
    CHECK(EffectiveConfig(plan->root_text).has_value());
    CHECK(WithoutOurPart(plan->root_text, wish.drop_in_path) == plan->root_before);
    wish.root_text = plan->root_text;
    const auto again = PlanContainerd(wish);
    CHECK(again.has_value());
    CHECK(again->root_text == plan->root_text);
  }
}

}  // namespace
}  // namespace gantry::container

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::container::Fuzz(std::string(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
