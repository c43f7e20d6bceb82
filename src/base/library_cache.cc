// SPDX-License-Identifier: Apache-2.0
// Merging the driver's libraries into an image's ld.so.cache. Running the image's or the host's
// ldconfig would open every library of the image at every container start; the cache has all that
// is needed, and adding a few dozen entries to it takes less than a millisecond.
//
// Layout (little endian): a header, `nlibs` entries of 24 bytes in descending order of their key,
// the strings, then extensions (hwcaps names), aligned to 4. Offsets count from the header's start.
// Old images put the format of glibc 2.0 in front; the linker accepts a file without that part.
#include "base/library_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/paths.h"
#include "base/text.h"

namespace gantry {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr size_t kOldHeader = 16;
constexpr size_t kOldEntry = 12;
constexpr uint32_t kExtensionMagic = 0xEAA42174;
constexpr uint32_t kExtensionNames = 1;  // cache_extension_tag_glibc_hwcaps
#if defined(__aarch64__)
constexpr int32_t kNativeFlags = 0x0a03;  // FLAG_AARCH64_LIB64 | FLAG_ELF_LIBC6
#else
constexpr int32_t kNativeFlags = 0x0303;  // FLAG_X8664_LIB64 | FLAG_ELF_LIBC6
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

// Of a cache that is known to hold it.
Entry EntryAt(std::string_view cache, uint32_t index) {
  return Load<Entry>(cache, sizeof(Header) + index * sizeof(Entry)).value_or(Entry{});
}

// The order of glibc's _dl_cache_libcmp: runs of digits count as numbers.
int CompareNames(std::string_view a, std::string_view b) {
  const auto first = [](std::string_view text) { return text.empty() ? '\0' : text.front(); };
  const auto digit = [&](std::string_view text) {
    return first(text) >= '0' && first(text) <= '9';
  };
  const auto number = [&](std::string_view& text) {
    unsigned long value = 0;
    for (; digit(text); text.remove_prefix(1)) {
      value = value * 10 + static_cast<unsigned long>(first(text) - '0');
    }
    return value;
  };
  while (!a.empty()) {
    if (digit(a)) {
      if (!digit(b)) {
        return 1;
      }
      const unsigned long left = number(a);
      const unsigned long right = number(b);
      if (left != right) {
        return left < right ? -1 : 1;
      }
    } else if (digit(b)) {
      return -1;
    } else if (first(a) != first(b)) {
      return first(a) - first(b);
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return first(a) - first(b);
}

// The text stays where it is: a cache has some thousand of them, and is read at container starts.
std::optional<std::string_view> TextAtOffset(std::string_view bytes, uint32_t offset) {
  if (offset >= bytes.size()) {
    return std::nullopt;
  }
  const size_t end = bytes.find('\0', offset);
  return end == std::string_view::npos ? std::nullopt
                                       : std::optional(bytes.substr(offset, end - offset));
}

std::unexpected<Error> Broken(std::string_view why) {
  return Fail(ErrorKind::kInvalid, format("read library cache: {}", why));
}

// Without what old images put in front.
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

// Moves every offset in the extension area of `out` by `shift`. An area that is not understood is
// cut off from the cache: it only speeds the linker up.
void MoveExtensions(std::string& out, Header& header, uint32_t shift) {
  const size_t start = header.extension_offset + shift;
  const auto extension = Load<Extension>(out, start);
  if (!extension || extension->magic != kExtensionMagic || extension->count > 16) {
    header.extension_offset = 0;
    return;
  }
  header.extension_offset += shift;
  for (uint32_t i = 0; i < extension->count; ++i) {
    const size_t at = start + sizeof(Extension) + i * sizeof(ExtensionSection);
    auto section = Load<ExtensionSection>(out, at);
    if (!section) {
      header.extension_offset = 0;
      return;
    }
    section->offset += shift;
    Store(out, at, *section);
    for (uint32_t j = 0; section->tag == kExtensionNames && j < section->size / 4; ++j) {
      const auto name = Load<uint32_t>(out, section->offset + j * 4);
      if (!name) {
        header.extension_offset = 0;
        return;
      }
      Store(out, section->offset + j * 4, *name + shift);
    }
  }
}

// Those of the cache that stay, in the order of their names; of one name, in their order.
std::vector<uint32_t> Kept(const std::vector<CachedName>& names,
                           const std::vector<CachedLibrary>& added) {
  std::unordered_set<std::string_view> paths;
  for (const CachedLibrary& library : added) {
    paths.insert(library.path);
  }
  std::vector<uint32_t> kept;
  kept.reserve(names.size());
  for (uint32_t i = 0; i < names.size(); ++i) {
    if (!paths.contains(names[i].path)) {
      kept.push_back(i);
    }
  }
  const auto before = [&](uint32_t a, uint32_t b) {
    const int order = CompareNames(names[a].soname, names[b].soname);
    return order != 0 ? order > 0 : a < b;
  };
  // What ldconfig wrote is in order.
  if (!std::ranges::is_sorted(kept, before)) {
    std::ranges::sort(kept, before);
  }
  return kept;
}

// The same of those that are added.
std::vector<const CachedLibrary*> InOrder(const std::vector<CachedLibrary>& libraries) {
  std::vector<const CachedLibrary*> ordered;
  ordered.reserve(libraries.size());
  for (const CachedLibrary& library : libraries) {
    ordered.push_back(&library);
  }
  std::ranges::sort(ordered, [](const CachedLibrary* a, const CachedLibrary* b) {
    const int order = CompareNames(a->soname, b->soname);
    return order != 0 ? order > 0 : a < b;
  });
  return ordered;
}

}  // namespace

Result<LibraryCache> LibraryCache::Read(std::string_view bytes) {
  if (bytes.empty()) {
    return LibraryCache(WithoutEntries(), {});
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
  std::vector<CachedName> names;
  names.reserve(header->nlibs);
  for (uint32_t i = 0; i < header->nlibs; ++i) {
    const Entry entry = EntryAt(cache, i);
    const auto key = TextAtOffset(cache, entry.key);
    const auto value = TextAtOffset(cache, entry.value);
    if (!key || !value) {
      return Broken("an entry points outside");
    }
    names.push_back({*key, *value, entry.flags == kNativeFlags});
  }
  return LibraryCache(cache, std::move(names));
}

std::string LibraryCache::With(const std::vector<CachedLibrary>& libraries) const {
  const std::vector<uint32_t> kept = Kept(names_, libraries);
  const std::vector<const CachedLibrary*> ours = InOrder(libraries);
  const size_t count = kept.size() + ours.size();
  const size_t first_string = sizeof(Header) + names_.size() * sizeof(Entry);
  // Entries may become fewer than before; the room they leave stays, so that offsets only grow.
  const size_t room = std::max(count, names_.size());
  const auto shift = static_cast<uint32_t>((room - names_.size()) * sizeof(Entry));
  size_t added_bytes = 0;
  for (const CachedLibrary& library : libraries) {
    added_bytes += library.soname.size() + library.path.size() + 2;
  }
  std::string out;
  out.reserve(bytes_.size() + shift + added_bytes);
  out.resize(sizeof(Header) + room * sizeof(Entry));
  out.append(bytes_.substr(first_string));
  Header header = Load<Header>(bytes_, 0).value_or(Header{});
  if (header.extension_offset != 0) {
    MoveExtensions(out, header, shift);
  }
  size_t place = sizeof(Header);
  const auto put = [&](const Entry& entry) {
    Store(out, place, entry);
    place += sizeof(Entry);
  };
  auto next = ours.begin();
  const auto put_ours = [&] {
    Entry entry{kNativeFlags, static_cast<uint32_t>(out.size()), 0, 0, 0};
    out.append((*next)->soname).push_back('\0');
    entry.value = static_cast<uint32_t>(out.size());
    out.append((*next)->path).push_back('\0');
    put(entry);
    ++next;
  };
  for (const uint32_t index : kept) {
    while (next != ours.end() && CompareNames((*next)->soname, names_[index].soname) >= 0) {
      put_ours();
    }
    Entry entry = EntryAt(bytes_, index);
    entry.key += shift;
    entry.value += shift;
    put(entry);
  }
  while (next != ours.end()) {
    put_ours();
  }
  header.nlibs = static_cast<uint32_t>(count);
  header.len_strings = static_cast<uint32_t>(out.size() - place);
  Store(out, 0, header);
  return out;
}

std::vector<std::string> CachedFolders(const std::string& root, std::string_view soname) {
  std::vector<std::string> folders;
  const auto path = ResolveInRoot(root, kLinkerCache);
  const auto bytes = path ? ReadFile(*path) : Result<std::string>(std::unexpected(path.error()));
  const auto cache =
      bytes ? LibraryCache::Read(*bytes) : Result<LibraryCache>(std::unexpected(bytes.error()));
  for (const CachedName& each : cache ? cache->names() : std::vector<CachedName>{}) {
    std::string folder = ParentOf(each.path);
    if (each.native && each.soname == soname &&
        std::ranges::find(folders, folder) == folders.end()) {
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

}  // namespace gantry
