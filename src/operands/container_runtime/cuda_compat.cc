// SPDX-License-Identifier: Apache-2.0
// Which libcuda does a container use? Decided by version numbers alone: asking the driver would
// cost a CUDA start per container. NVIDIA's rule: the image's library must be newer than the
// host's, and, since CUDA 13, name the host's driver branch in its ELF note.
#include "operands/container_runtime/cuda_compat.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/json.h"
#include "base/text.h"
#include "elf/soname.h"

namespace gantry::container_runtime {
namespace {

constexpr size_t kMostHeaders = 64;
constexpr size_t kMostNote = size_t{64} * 1024;
constexpr std::string_view kNoteOwner = "NVIDIA Corporation";

std::vector<int> Numbers(std::string_view version) {
  std::vector<int> numbers;
  for (const std::string& part : Split(version, '.')) {
    numbers.push_back(std::atoi(part.c_str()));
  }
  return numbers;
}

int Major(std::string_view version) {
  const std::vector<int> numbers = Numbers(version);
  return numbers.empty() ? 0 : numbers.front();
}

bool IsVersion(std::string_view text) {
  return text.find('.') != std::string_view::npos &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// The content of NVIDIA's note in one segment; empty if absent.
std::string NoteIn(std::string_view segment) {
  while (segment.size() >= sizeof(Elf64_Nhdr)) {
    const Elf64_Nhdr* note = reinterpret_cast<const Elf64_Nhdr*>(segment.data());
    const size_t name_size = (size_t{note->n_namesz} + 3) & ~size_t{3};
    const size_t text_size = (size_t{note->n_descsz} + 3) & ~size_t{3};
    if (sizeof(Elf64_Nhdr) + name_size + text_size > segment.size()) {
      return "";
    }
    const std::string_view name = segment.substr(sizeof(Elf64_Nhdr), note->n_namesz);
    if (name.starts_with(kNoteOwner)) {
      const std::string_view text = segment.substr(sizeof(Elf64_Nhdr) + name_size, note->n_descsz);
      return std::string(text.substr(0, text.find('\0')));
    }
    segment.remove_prefix(sizeof(Elf64_Nhdr) + name_size + text_size);
  }
  return "";
}

}  // namespace

bool UseCompat(const CompatFacts& facts) {
  if (!facts.has_note) {
    return !facts.host_driver_version.empty() &&
           Major(facts.host_driver_version) < Major(facts.compat_version);
  }
  if (!facts.host_driver_version.empty()) {
    const bool listed =
        std::ranges::find(facts.note_driver_majors, Major(facts.host_driver_version)) !=
        facts.note_driver_majors.end();
    return listed && Numbers(facts.compat_version) > Numbers(facts.host_driver_version);
  }
  return !facts.host_cuda_version.empty() &&
         Numbers(facts.note_cuda_version) > Numbers(facts.host_cuda_version);
}

std::string ReadCompatNote(int fd) {
  Elf64_Ehdr header{};
  if (::pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phnum > kMostHeaders ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return "";
  }
  std::array<Elf64_Phdr, kMostHeaders> segments{};
  const size_t size = header.e_phnum * sizeof(Elf64_Phdr);
  if (::pread(fd, segments.data(), size, static_cast<off_t>(header.e_phoff)) !=
      static_cast<ssize_t>(size)) {
    return "";
  }
  for (size_t i = 0; i < header.e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE || segments[i].p_filesz > kMostNote) {
      continue;
    }
    std::string text(segments[i].p_filesz, '\0');
    if (::pread(fd, text.data(), text.size(), static_cast<off_t>(segments[i].p_offset)) ==
        static_cast<ssize_t>(text.size())) {
      if (std::string note = NoteIn(text); !note.empty()) {
        return note;
      }
    }
  }
  return "";
}

std::vector<elf::CachedLibrary> CompatLibraries(const ContainerRoot& root, std::string_view folder,
                                                std::string_view host_driver_version,
                                                std::string_view host_cuda_version) {
  constexpr std::string_view kStem = "libcuda.so.";
  const std::vector<std::string> names = root.List(folder);
  CompatFacts facts;
  for (const std::string& name : names) {
    if (name.starts_with(kStem) && IsVersion(std::string_view(name).substr(kStem.size()))) {
      if (!facts.compat_version.empty()) {
        return {};  // two of them: the image's author must choose
      }
      facts.compat_version = name.substr(kStem.size());
    }
  }
  if (facts.compat_version.empty()) {
    return {};
  }
  facts.host_driver_version = host_driver_version;
  facts.host_cuda_version = host_cuda_version;
  const auto library =
      root.OpenAt(JoinPath(folder, std::string(kStem) + facts.compat_version), O_RDONLY);
  if (!library) {
    return {};
  }
  if (const auto note = ParseJson(ReadCompatNote(library->get())); note && note->is_object()) {
    facts.has_note = true;
    facts.note_cuda_version = TextAt(*note, "CUDA Version");
    const Json* majors = At(*note, "Driver");
    if (majors != nullptr && majors->is_array()) {
      for (const Json& major : *majors) {
        facts.note_driver_majors.push_back(major.is_number_integer() ? major.get<int>() : 0);
      }
    }
  }
  if (!UseCompat(facts)) {
    return {};
  }
  std::vector<elf::CachedLibrary> libraries;
  for (const std::string& name : names) {
    const auto fd = root.OpenAt(JoinPath(folder, name), O_RDONLY);
    if (!fd || name.find(".so.") == std::string::npos) {
      continue;
    }
    const std::string soname = elf::ReadSoname(format("/proc/self/fd/{}", fd->get()));
    if (soname == name) {  // the links named like the SONAME, not the files behind them
      libraries.push_back({soname, JoinPath(folder, name)});
    }
  }
  return libraries;
}

}  // namespace gantry::container_runtime
