// SPDX-License-Identifier: Apache-2.0
// An image's /etc/ld.so.cache. What can be read can be added to, and then holds what was added.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "elf/library_cache.h"

namespace gantry::elf {
namespace {

void Fuzz(std::string_view cache) {
  const CachedLibrary ours{"libcuda.so.1", "/usr/lib/libcuda.so.1"};
  const auto before = LibraryCache::Read(cache);
  if (!before) {
    return;
  }
  const std::string merged = before->With({ours}).Whole();
  const auto after = LibraryCache::Read(merged);
  CHECK(after.has_value());
  CHECK(after->names().size() >= before->names().size());
  CHECK(std::ranges::any_of(after->names(), [&](const CachedName& each) {
    return each.soname == ours.soname && each.path == ours.path;
  }));
}

}  // namespace
}  // namespace gantry::elf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::elf::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
