// SPDX-License-Identifier: Apache-2.0
// What is the SONAME of a library? Read without libelf: program headers -> PT_DYNAMIC -> DT_SONAME
// in DT_STRTAB. A library of the driver is up to 100 MB, so only single structures are read.
#include "elf/soname.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/paths.h"

namespace gantry::elf {
namespace {

constexpr size_t kMostHeaders = 64;
constexpr size_t kMostDynamic = 512;

struct Wide {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Entry = Elf64_Dyn;
#if defined(__aarch64__)
  static constexpr unsigned kMachine = EM_AARCH64;
#else
  static constexpr unsigned kMachine = EM_X86_64;
#endif
};
struct Narrow {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Entry = Elf32_Dyn;
#if defined(__aarch64__)
  static constexpr unsigned kMachine = EM_ARM;
#else
  static constexpr unsigned kMachine = EM_386;
#endif
};

template <typename T>
bool ReadAt(int fd, std::span<T> into, size_t offset) {
  return ::pread(fd, into.data(), into.size_bytes(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(into.size_bytes());
}

// The file offset of a virtual address; 0 if it has none.
template <typename Segment>
size_t FileOffset(std::span<const Segment> segments, size_t address) {
  for (const Segment& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return 0;
}

// The SONAME in the dynamic section `dynamic`; empty if it has none, nullopt if it can't be read.
template <typename Class>
std::optional<std::string> SonameIn(int fd, std::span<const typename Class::Segment> segments,
                                    const typename Class::Segment& dynamic) {
  std::array<typename Class::Entry, kMostDynamic> table{};
  const size_t held = dynamic.p_filesz / sizeof(typename Class::Entry);
  const std::span entries(table.data(), std::min(kMostDynamic, held));
  if (entries.empty() || !ReadAt(fd, entries, dynamic.p_offset)) {
    return std::nullopt;
  }
  size_t strings = 0;
  size_t name = 0;
  for (const auto& entry : entries) {
    if (entry.d_tag == DT_STRTAB) {
      strings = FileOffset(segments, entry.d_un.d_ptr);
    } else if (entry.d_tag == DT_SONAME) {
      name = entry.d_un.d_val;
    }
  }
  std::array<char, 256> text{};
  const bool named =
      strings != 0 && name != 0 &&
      ::pread(fd, text.data(), text.size() - 1, static_cast<off_t>(strings + name)) > 0;
  return named ? text.data() : "";
}

template <typename Class>
std::optional<std::string> SonameOf(int fd) {
  typename Class::Header header{};
  if (!ReadAt(fd, std::span(&header, 1), 0) || header.e_type != ET_DYN ||
      header.e_machine != Class::kMachine ||
      header.e_phentsize != sizeof(typename Class::Segment) || header.e_phnum > kMostHeaders) {
    return std::nullopt;
  }
  std::array<typename Class::Segment, kMostHeaders> all{};
  const std::span segments(all.data(), header.e_phnum);
  if (!ReadAt(fd, segments, header.e_phoff)) {
    return std::nullopt;
  }
  for (const auto& segment : segments) {
    if (segment.p_type == PT_DYNAMIC) {
      return SonameIn<Class>(fd, segments, segment);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<SharedObject> ReadSharedObject(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::array<unsigned char, EI_NIDENT> start{};
  if (!fd.valid() || !ReadAt(fd.get(), std::span<unsigned char>(start), 0) ||
      std::memcmp(start.data(), ELFMAG, SELFMAG) != 0 || start[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  const bool narrow = start[EI_CLASS] == ELFCLASS32;
  auto soname = narrow                          ? SonameOf<Narrow>(fd.get())
                : start[EI_CLASS] == ELFCLASS64 ? SonameOf<Wide>(fd.get())
                                                : std::nullopt;
  return soname ? std::optional(SharedObject{*std::move(soname), narrow}) : std::nullopt;
}

std::string ReadSoname(const std::string& path) {
  auto object = ReadSharedObject(path);
  return object && !object->narrow ? std::move(object->soname) : "";
}

}  // namespace gantry::elf
