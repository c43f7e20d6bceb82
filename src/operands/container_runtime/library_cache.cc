// SPDX-License-Identifier: Apache-2.0
// Merging the driver's libraries into an image's ld.so.cache. Running the image's or the host's
// ldconfig would open every library of the image at every container start; the cache has all that
// is needed, and adding a few dozen entries to it takes less than a millisecond.
//
// Layout (little endian): a header, `nlibs` entries of 24 bytes in descending order of their key,
// the strings, then extensions (hwcaps names), aligned to 4. Offsets count from the header's start.
// Old images put the format of glibc 2.0 in front; the linker accepts a file without that part.
#include "operands/container_runtime/library_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace gantry::container_runtime {
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

struct Parsed {
  std::string_view bytes;  // from the header on
  Header header{};
  std::vector<Entry> entries;
  std::vector<CachedName> names;  // of the entries
};

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

Result<Parsed> Parse(std::string_view cache) {
  if (cache.starts_with(kOldMagic)) {
    const auto count = Load<uint32_t>(cache, 12);
    const size_t start = kOldHeader + kOldEntry * static_cast<size_t>(count.value_or(0));
    const size_t aligned = (start + 7) & ~size_t{7};
    if (aligned > cache.size()) {
      return Broken("too short");
    }
    cache.remove_prefix(aligned);
  }
  const auto header = Load<Header>(cache, 0);
  if (!header || !cache.starts_with(kMagic)) {
    return Broken("not of the format glibc-ld.so.cache1.1");
  }
  if ((header->flags & 3) != 0 && (header->flags & 3) != kLittleEndian) {
    return Broken("of another byte order");
  }
  Parsed parsed{cache, *header, {}, {}};
  if ((cache.size() - sizeof(Header)) / sizeof(Entry) < header->nlibs) {
    return Broken("too short");
  }
  parsed.entries.resize(header->nlibs);
  if (header->nlibs > 0) {
    std::memcpy(parsed.entries.data(), cache.data() + sizeof(Header),
                header->nlibs * sizeof(Entry));
  }
  parsed.names.reserve(header->nlibs);
  for (const Entry& entry : parsed.entries) {
    const auto key = TextAtOffset(cache, entry.key);
    const auto value = TextAtOffset(cache, entry.value);
    if (!key || !value) {
      return Broken("an entry points outside");
    }
    parsed.names.push_back({*key, *value});
  }
  return parsed;
}

Parsed EmptyCache(std::string& storage) {
  Header header{};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  header.flags = kLittleEndian;
  storage.assign(sizeof(Header), '\0');
  Store(storage, 0, header);
  return {storage, header, {}, {}};
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

struct Named {
  std::string_view key;
  Entry entry;
  size_t order = 0;  // among those of one key
};

bool Before(const Named& a, const Named& b) { return CompareNames(a.key, b.key) > 0; }

// Those of one key stay in their order.
void Sort(std::vector<Named>& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].order = i;
  }
  std::ranges::sort(list, [](const Named& a, const Named& b) {
    const int names = CompareNames(a.key, b.key);
    return names != 0 ? names > 0 : a.order < b.order;
  });
}

// Ours before the others of the same name. What ldconfig wrote is in order: then no more than our
// few have to be sorted.
std::vector<Named> Merged(std::vector<Named> ours, std::vector<Named> theirs) {
  Sort(ours);
  if (!std::ranges::is_sorted(theirs, Before)) {
    Sort(theirs);
  }
  std::vector<Named> all;
  all.reserve(ours.size() + theirs.size());
  std::ranges::merge(ours, theirs, std::back_inserter(all), Before);
  return all;
}

}  // namespace

Result<std::string> AddToLibraryCache(std::string_view cache,
                                      const std::vector<CachedLibrary>& libraries) {
  std::string storage;
  Parsed old;
  if (cache.empty()) {
    old = EmptyCache(storage);
  } else {
    TRY_ASSIGN(old, Parse(cache));
  }
  std::unordered_set<std::string_view> added;
  size_t added_bytes = 0;
  for (const CachedLibrary& library : libraries) {
    added.insert(library.path);
    added_bytes += library.soname.size() + library.path.size() + 2;
  }
  std::vector<Named> kept;
  kept.reserve(old.entries.size());
  for (size_t i = 0; i < old.entries.size(); ++i) {
    if (!added.contains(old.names[i].path)) {
      kept.push_back({old.names[i].soname, old.entries[i], 0});
    }
  }
  const size_t count = kept.size() + libraries.size();
  const size_t first_string = sizeof(Header) + old.entries.size() * sizeof(Entry);
  // Entries may become fewer than before; the room they leave stays, so that offsets only grow.
  const size_t room = std::max(count, old.entries.size());
  const auto shift = static_cast<uint32_t>((room - old.entries.size()) * sizeof(Entry));

  std::string out;
  out.reserve(sizeof(Header) + room * sizeof(Entry) + old.bytes.size() - first_string +
              added_bytes);
  out.resize(sizeof(Header) + room * sizeof(Entry));
  out.append(old.bytes.substr(first_string));
  Header header = old.header;
  if (header.extension_offset != 0) {
    MoveExtensions(out, header, shift);
  }
  std::vector<Named> ours;
  for (const CachedLibrary& library : libraries) {
    Entry entry{kNativeFlags, static_cast<uint32_t>(out.size()), 0, 0, 0};
    out.append(library.soname).push_back('\0');
    entry.value = static_cast<uint32_t>(out.size());
    out.append(library.path).push_back('\0');
    ours.push_back({library.soname, entry, 0});
  }
  for (Named& named : kept) {
    named.entry.key += shift;
    named.entry.value += shift;
  }
  const std::vector<Named> all = Merged(std::move(ours), std::move(kept));
  for (size_t i = 0; i < all.size(); ++i) {
    Store(out, sizeof(Header) + i * sizeof(Entry), all[i].entry);
  }
  header.nlibs = static_cast<uint32_t>(all.size());
  header.len_strings =
      static_cast<uint32_t>(out.size() - sizeof(Header) - all.size() * sizeof(Entry));
  Store(out, 0, header);
  return out;
}

Result<std::vector<CachedName>> ReadLibraryCache(std::string_view cache) {
  TRY_ASSIGN(Parsed parsed, Parse(cache));
  return std::move(parsed.names);
}

}  // namespace gantry::container_runtime
