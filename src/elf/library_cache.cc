// SPDX-License-Identifier: Apache-2.0
// How are the driver's libraries merged into an image's ld.so.cache? Running the image's or the
// host's ldconfig would open every library of the image at every container start. The cache has all
// that is needed, and adding a few dozen entries to it takes less than a millisecond.
//
// Layout (little endian): a header, `nlibs` entries of 24 bytes in descending order of their key,
// the strings, then extensions (hwcaps names), aligned to 4. Offsets count from the header's start.
// Old images put the format of glibc 2.0 in front; the linker accepts a file without that part.
#include "elf/library_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::elf {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr size_t kOldHeader = 16;
constexpr size_t kOldEntry = 12;
constexpr uint32_t kExtensionMagic = 0xEAA42174;
constexpr uint32_t kExtensionNames = 1;  // cache_extension_tag_glibc_hwcaps
#if defined(__aarch64__)
constexpr int32_t kNativeFlags = 0x0a03;  // FLAG_AARCH64_LIB64 | FLAG_ELF_LIBC6
constexpr int32_t kNarrowFlags = 0x0903;  // FLAG_ARM_LIBHF | FLAG_ELF_LIBC6
#else
constexpr int32_t kNativeFlags = 0x0303;  // FLAG_X8664_LIB64 | FLAG_ELF_LIBC6
constexpr int32_t kNarrowFlags = 0x0003;  // FLAG_ELF_LIBC6
#endif
constexpr uint8_t kLittleEndian = 2;

struct Header {
  char magic[20];
  uint32_t nlibs;
  uint32_t len_strings;
  uint8_t flags;
  uint8_t padding[3];
  uint32_t extension_offset;
  uint32_t unused[3];
};
static_assert(sizeof(Header) == 48);

struct Entry {
  int32_t flags;
  uint32_t key;
  uint32_t value;
  uint32_t osversion;
  uint64_t hwcap;
};
static_assert(sizeof(Entry) == 24);

struct ExtensionSection {
  uint32_t tag;
  uint32_t flags;
  uint32_t offset;
  uint32_t size;
};

struct Extension {
  uint32_t magic;
  uint32_t count;
};

template <typename T>
std::optional<T> Load(std::string_view bytes, size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T>
void Store(std::string& bytes, size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

// For a cache that is known to contain it.
Entry EntryAt(std::string_view cache, uint32_t index) {
  return Load<Entry>(cache, sizeof(Header) + index * sizeof(Entry)).value_or(Entry{});
}

int32_t FlagsOf(const CachedLibrary& library) {
  return library.narrow ? kNarrowFlags : kNativeFlags;
}

std::unexpected<Error> Broken(std::string_view why) {
  return Fail(ErrorKind::kInvalid, format("read library cache: {}", why));
}

// Without the part that old images put in front.
Result<std::string_view> WithoutOldFormat(std::string_view cache) {
  if (cache.starts_with(kOldMagic)) {
    const auto count = Load<uint32_t>(cache, 12);
    const size_t start = kOldHeader + kOldEntry * static_cast<size_t>(count.value_or(0));
    const size_t aligned = (start + 7) & ~size_t{7};
    if (aligned > cache.size()) {
      return Broken("too short");
    }
    cache.remove_prefix(aligned);
  }
  return cache;
}

std::string_view WithoutEntries() {
  static const std::string kCache = [] {
    Header header{};
    std::memcpy(header.magic, kMagic.data(), kMagic.size());
    header.flags = kLittleEndian;
    std::string bytes(sizeof(Header), '\0');
    Store(bytes, 0, header);
    return bytes;
  }();
  return kCache;
}

// Moves every offset in the extension area by `shift`; `area` begins where the header says. An
// unknown extension is cut off: it only speeds the linker up.
void MoveExtensions(std::string& area, Header& header, uint32_t shift) {
  const uint32_t start = std::exchange(header.extension_offset, 0);
  const auto extension = Load<Extension>(area, 0);
  if (!extension || extension->magic != kExtensionMagic || extension->count > 16) {
    return;
  }
  for (uint32_t i = 0; i < extension->count; ++i) {
    const size_t at = sizeof(Extension) + i * sizeof(ExtensionSection);
    auto section = Load<ExtensionSection>(area, at);
    if (!section || section->offset < start) {
      return;
    }
    for (uint32_t j = 0; section->tag == kExtensionNames && j < section->size / 4; ++j) {
      const size_t place = section->offset - start + j * size_t{4};
      const auto name = Load<uint32_t>(area, place);
      if (!name) {
        return;
      }
      Store(area, place, *name + shift);
    }
    section->offset += shift;
    Store(area, at, *section);
  }
  header.extension_offset = start + shift;
}

// In the cache's order; entries of one name and kind keep theirs.
std::vector<const CachedLibrary*> InOrder(const std::vector<CachedLibrary>& libraries) {
  std::vector<const CachedLibrary*> ordered;
  ordered.reserve(libraries.size());
  for (const CachedLibrary& library : libraries) {
    ordered.push_back(&library);
  }
  std::ranges::sort(ordered, [](const CachedLibrary* a, const CachedLibrary* b) {
    const int order = CompareLibraryNames(a->soname, b->soname);
    const int kinds = FlagsOf(*a) - FlagsOf(*b);
    return order != 0 ? order > 0 : kinds != 0 ? kinds > 0 : a < b;
  });
  return ordered;
}

}  // namespace

int CompareLibraryNames(std::string_view a, std::string_view b) {
  const auto first = [](std::string_view text) { return text.empty() ? '\0' : text.front(); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&](std::string_view& text) {
    unsigned long value = 0;
    for (; digit(first(text)); text.remove_prefix(1)) {
      value = value * 10 + static_cast<unsigned long>(first(text) - '0');
    }
    return value;
  };
  // Neighbours in a cache share long prefixes; a shared prefix matters only if it ends inside a
  // number.
  auto same = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  while (same > 0 && digit(a[same - 1])) {
    --same;
  }
  a.remove_prefix(same);
  b.remove_prefix(same);
  while (!a.empty()) {
    if (digit(first(a)) != digit(first(b))) {
      return digit(first(a)) ? 1 : -1;
    }
    if (digit(first(a))) {
      const unsigned long left = number(a);
      const unsigned long right = number(b);
      if (left != right) {
        return left < right ? -1 : 1;
      }
    } else if (first(a) != first(b)) {
      return first(a) - first(b);
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return first(a) - first(b);
}

Result<LibraryCache> LibraryCache::Read(std::string_view bytes) {
  if (bytes.empty()) {
    return LibraryCache(WithoutEntries(), 0);
  }
  TRY_ASSIGN(const std::string_view cache, WithoutOldFormat(bytes));
  const auto header = Load<Header>(cache, 0);
  if (!header || !cache.starts_with(kMagic)) {
    return Broken("not of the format glibc-ld.so.cache1.1");
  }
  if ((header->flags & 3) != 0 && (header->flags & 3) != kLittleEndian) {
    return Broken("of another byte order");
  }
  if ((cache.size() - sizeof(Header)) / sizeof(Entry) < header->nlibs) {
    return Broken("too short");
  }
  // A string that begins before the last zero byte ends there at the latest.
  const size_t last = cache.rfind('\0');
  for (uint32_t i = 0; i < header->nlibs; ++i) {
    const Entry entry = EntryAt(cache, i);
    if (last == std::string_view::npos || entry.key > last || entry.value > last) {
      return Broken("an entry points outside");
    }
  }
  return LibraryCache(cache, header->nlibs);
}

std::string_view LibraryCache::SonameAt(uint32_t index) const {
  return bytes_.data() + EntryAt(bytes_, index).key;
}

std::string_view LibraryCache::PathAt(uint32_t index) const {
  return bytes_.data() + EntryAt(bytes_, index).value;
}

int32_t LibraryCache::FlagsAt(uint32_t index) const { return EntryAt(bytes_, index).flags; }

CachedName LibraryCache::NameAt(uint32_t index) const {
  return {SonameAt(index), PathAt(index), FlagsAt(index) == kNativeFlags};
}

// The first entry at or after `from` with that name or a later one. A binary search, as the
// linker's: most strings of the cache are never read, and memory is slow at a start.
uint32_t LibraryCache::Find(std::string_view soname, uint32_t from) const {
  const auto indices = std::views::iota(from, count_);
  const auto found = std::ranges::partition_point(
      indices, [&](uint32_t index) { return CompareLibraryNames(SonameAt(index), soname) > 0; });
  return from + static_cast<uint32_t>(found - indices.begin());
}

CacheBytes LibraryCache::With(const std::vector<CachedLibrary>& libraries) const {
  const std::vector<const CachedLibrary*> ours = InOrder(libraries);
  const size_t first_text = sizeof(Header) + count_ * sizeof(Entry);
  const size_t room = count_ + ours.size();
  const auto shift = static_cast<uint32_t>(ours.size() * sizeof(Entry));
  Header header = Load<Header>(bytes_, 0).value_or(Header{});
  CacheBytes out;
  out.texts = bytes_.substr(first_text);
  if (header.extension_offset >= first_text && header.extension_offset < bytes_.size()) {
    out.texts = bytes_.substr(first_text, header.extension_offset - first_text);
    out.added = bytes_.substr(header.extension_offset);
    MoveExtensions(out.added, header, shift);
  }
  out.entries.resize(sizeof(Header) + room * sizeof(Entry));
  size_t place = sizeof(Header);
  const auto put = [&](const Entry& entry) {
    Store(out.entries, place, entry);
    place += sizeof(Entry);
  };
  const auto put_old = [&](uint32_t index) {
    Entry entry = EntryAt(bytes_, index);
    entry.key += shift;
    entry.value += shift;
    put(entry);
  };
  const auto put_text = [&](const std::string& text) {
    const size_t at = out.entries.size() + out.texts.size() + out.added.size();
    out.added.append(text).push_back('\0');
    return static_cast<uint32_t>(at);
  };
  uint32_t index = 0;
  for (auto library = ours.begin(); library != ours.end();) {
    const std::string& soname = (*library)->soname;
    for (const uint32_t next = Find(soname, index); index < next; ++index) {
      put_old(index);
    }
    const auto same = std::find_if(
        library, ours.end(), [&](const CachedLibrary* each) { return each->soname != soname; });
    const std::span group(library, same);
    // Of the same name, up to those of `flags` and the ones after these: greater flags come first.
    const auto put_old_above = [&](int64_t flags) {
      for (; index < count_ && SonameAt(index) == soname && FlagsAt(index) > flags; ++index) {
        if (std::ranges::none_of(
                group, [&](const CachedLibrary* each) { return each->path == PathAt(index); })) {
          put_old(index);
        }
      }
    };
    for (const CachedLibrary* each : group) {
      put_old_above(FlagsOf(*each));
      const uint32_t key = put_text(each->soname);
      put({FlagsOf(*each), key, put_text(each->path), 0, 0});
    }
    put_old_above(std::numeric_limits<int64_t>::min());
    library = same;
  }
  for (; index < count_; ++index) {
    put_old(index);
  }
  // The space of an entry that one of the added libraries replaced counts as text.
  header.nlibs = static_cast<uint32_t>((place - sizeof(Header)) / sizeof(Entry));
  header.len_strings = static_cast<uint32_t>(room * sizeof(Entry) + sizeof(Header) - place +
                                             out.texts.size() + out.added.size());
  Store(out.entries, 0, header);
  return out;
}

bool LibraryCache::Has(const std::vector<CachedLibrary>& libraries) const {
  uint32_t index = 0;
  const CachedLibrary* before = nullptr;
  for (const CachedLibrary* library : InOrder(libraries)) {
    if (before == nullptr || before->soname != library->soname) {
      index = Find(library->soname, index);
    }
    while (index < count_ && SonameAt(index) == library->soname &&
           FlagsAt(index) > FlagsOf(*library)) {
      ++index;
    }
    if (index == count_ || SonameAt(index) != library->soname || PathAt(index) != library->path) {
      return false;
    }
    before = library;
    ++index;
  }
  return true;
}

std::vector<std::string> CachedFolders(const std::string& root, std::string_view soname) {
  std::vector<std::string> folders;
  const auto path = ResolveInRoot(root, kLinkerCache);
  const auto bytes = path ? ReadFile(*path) : Result<std::string>(std::unexpected(path.error()));
  const auto cache =
      bytes ? LibraryCache::Read(*bytes) : Result<LibraryCache>(std::unexpected(bytes.error()));
  if (!cache) {
    return folders;
  }
  for (const CachedName& each : cache->names()) {
    std::string folder = ParentOf(each.path);
    if (each.native && each.soname == soname &&
        std::ranges::find(folders, folder) == folders.end()) {
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

}  // namespace gantry::elf
