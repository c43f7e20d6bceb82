// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// The dynamic linker's cache, /etc/ld.so.cache, in the format "glibc-ld.so.cache1.1" (glibc's
// elf/cache.c and sysdeps/generic/dl-cache.h).
namespace gantry::container_runtime {

struct CachedLibrary {
  std::string soname;
  std::string path;
  auto operator<=>(const CachedLibrary&) const = default;
};

// The cache with the given libraries added; those of the list are found before what the cache holds
// under the same name, earlier ones of the list before later ones. An empty `cache` gives a cache
// of the libraries alone: the linker still looks into its system folders for the others. kInvalid
// if `cache` is no cache of this format.
Result<std::string> AddToLibraryCache(std::string_view cache,
                                      const std::vector<CachedLibrary>& libraries);

// An entry of a cache, as views into its bytes.
struct CachedName {
  std::string_view soname;
  std::string_view path;
};

// What a cache holds, in its order. kInvalid if it is no cache of this format.
Result<std::vector<CachedName>> ReadLibraryCache(std::string_view cache);

}  // namespace gantry::container_runtime
