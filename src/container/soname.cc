// SPDX-License-Identifier: Apache-2.0
// The SONAME of a library, without libelf: program headers -> PT_DYNAMIC -> DT_SONAME in DT_STRTAB.
// A library of the driver is up to 100 MB, so single structures are read, never the file.
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>

#include "base/paths.h"
#include "container/driver_files.h"

namespace gantry::container {
namespace {

constexpr size_t kMostHeaders = 64;
constexpr size_t kMostDynamic = 512;

template <typename T>
bool ReadAt(int fd, std::span<T> into, size_t offset) {
  return ::pread(fd, into.data(), into.size_bytes(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(into.size_bytes());
}

// Where in the file a virtual address lies; 0 if nowhere.
size_t FileOffset(std::span<const Elf64_Phdr> segments, size_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address < segment.p_vaddr + segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return 0;
}

}  // namespace

std::string ReadSoname(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr header{};
  if (!fd.valid() || !ReadAt(fd.get(), std::span(&header, 1), 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMostHeaders) {
    return "";
  }
  std::array<Elf64_Phdr, kMostHeaders> all{};
  const std::span segments(all.data(), header.e_phnum);
  if (!ReadAt(fd.get(), segments, header.e_phoff)) {
    return "";
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) {
      continue;
    }
    std::array<Elf64_Dyn, kMostDynamic> table{};
    const std::span entries(table.data(),
                            std::min(kMostDynamic, segment.p_filesz / sizeof(Elf64_Dyn)));
    if (!ReadAt(fd.get(), entries, segment.p_offset)) {
      return "";
    }
    size_t strings = 0;
    size_t name = 0;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_STRTAB) {
        strings = FileOffset(segments, entry.d_un.d_ptr);
      } else if (entry.d_tag == DT_SONAME) {
        name = entry.d_un.d_val;
      }
    }
    std::array<char, 256> text{};
    if (strings == 0 || name == 0 ||
        ::pread(fd.get(), text.data(), text.size() - 1, static_cast<off_t>(strings + name)) <= 0) {
      return "";
    }
    return text.data();
  }
  return "";
}

}  // namespace gantry::container
