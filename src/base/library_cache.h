// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

// The dynamic linker's cache, /etc/ld.so.cache, in the format "glibc-ld.so.cache1.1" (glibc's
// elf/cache.c and sysdeps/generic/dl-cache.h).
namespace gantry {

inline constexpr char kLinkerCache[] = "/etc/ld.so.cache";

struct CachedLibrary {
  std::string soname;
  std::string path;
  auto operator<=>(const CachedLibrary&) const = default;
};

// An entry of a cache, as views into its bytes.
struct CachedName {
  std::string_view soname;
  std::string_view path;
  bool native = true;  // for programs of this machine's own kind, 64 bits
};

// A cache that was read; its bytes are the caller's, and stay.
class LibraryCache {
 public:
  // kInvalid if it is no cache of this format. No bytes are a cache without entries.
  static Result<LibraryCache> Read(std::string_view bytes);

  // What it holds, in its order.
  [[nodiscard]] const std::vector<CachedName>& names() const { return names_; }

  // The bytes of the cache with the given libraries added; those of the list are found before what
  // the cache holds under the same name, earlier ones of the list before later ones. A cache of the
  // libraries alone does: the linker still looks into its system folders for the others.
  [[nodiscard]] std::string With(const std::vector<CachedLibrary>& libraries) const;

 private:
  LibraryCache(std::string_view bytes, std::vector<CachedName> names)
      : bytes_(bytes), names_(std::move(names)) {}

  std::string_view bytes_;  // from the header on
  std::vector<CachedName> names_;
};

// Where the cache of a root file system lists libraries of that SONAME: folders as that root spells
// them, each once, in its order. None if there is no cache that can be read.
std::vector<std::string> CachedFolders(const std::string& root, std::string_view soname);

}  // namespace gantry
