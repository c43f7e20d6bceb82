// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// The dynamic linker's cache, /etc/ld.so.cache, in the format "glibc-ld.so.cache1.1" (glibc's
// elf/cache.c and sysdeps/generic/dl-cache.h).
namespace gantry::elf {

inline constexpr char kLinkerCache[] = "/etc/ld.so.cache";

struct CachedLibrary {
  std::string soname;
  std::string path;
  bool narrow = false;  // for programs of 32 bits
  auto operator<=>(const CachedLibrary&) const = default;
};

// The order of names in a cache, ascending: runs of digits count as numbers (glibc's
// _dl_cache_libcmp). Negative, 0 or positive.
int CompareLibraryNames(std::string_view a, std::string_view b);

// An entry of a cache, as views into its bytes.
struct CachedName {
  std::string_view soname;
  std::string_view path;
  bool native = true;  // for programs of this machine's own kind, 64 bits
};

// A new cache, to be written in parts: it is long, and most of its strings are the old cache's.
struct CacheBytes {
  std::string entries;
  std::string_view texts;  // of the cache that it was made from
  std::string added;
  [[nodiscard]] std::string Whole() const { return entries + std::string(texts) + added; }
};

// A view of a cache, whose bytes the caller owns and keeps. Entries are decoded on request: a cache
// has some thousand strings, and is read at container starts.
class LibraryCache {
 public:
  // kInvalid if it is not a cache of this format. Empty input is a cache without entries.
  static Result<LibraryCache> Read(std::string_view bytes);

  // Its entries in order, as a range of CachedName; valid as long as the bytes.
  [[nodiscard]] auto names() const {
    return std::views::iota(uint32_t{0}, count_) |
           std::views::transform([this](uint32_t index) { return NameAt(index); });
  }

  // The cache with the given libraries added; the linker finds them before the cache's entries of
  // the same name, in the order of the list. A cache of these libraries alone is enough: the linker
  // searches its system folders for all others. A cache that is not in ldconfig's order, in which
  // the linker finds little, stays unordered.
  [[nodiscard]] CacheBytes With(const std::vector<CachedLibrary>& libraries) const;
  // Whether With would change nothing that the linker sees.
  [[nodiscard]] bool Has(const std::vector<CachedLibrary>& libraries) const;

 private:
  LibraryCache(std::string_view bytes, uint32_t count) : bytes_(bytes), count_(count) {}
  [[nodiscard]] std::string_view SonameAt(uint32_t index) const;
  [[nodiscard]] std::string_view PathAt(uint32_t index) const;
  [[nodiscard]] int32_t FlagsAt(uint32_t index) const;
  [[nodiscard]] CachedName NameAt(uint32_t index) const;
  [[nodiscard]] uint32_t Find(std::string_view soname, uint32_t from) const;

  std::string_view bytes_;  // from the header on
  uint32_t count_;          // of entries, whose texts all end inside
};

// The folders in which a root file system's cache lists libraries of that SONAME: as that root
// spells them, each once, in order. Empty if there is no readable cache.
std::vector<std::string> CachedFolders(const std::string& root, std::string_view soname);

// The folders of Talos' system extensions for libraries, with a glibc of their own and without: no
// cache of the host lists these.
inline constexpr std::array kExtensionFolders = {"/usr/local/glibc/usr/lib", "/usr/lib"};

}  // namespace gantry::elf
