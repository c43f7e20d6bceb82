// SPDX-License-Identifier: Apache-2.0
// Which library names of a folder belong in the linker's cache? By ldconfig's rules (glibc's
// elf/ldconfig.c, search_dir), as a pure function: a program notices a difference if it opens a
// name that only ldconfig's cache would have.
#include "operands/container_runtime/library_names.h"

#include <algorithm>
#include <iterator>

#include "base/paths.h"

namespace gantry::container_runtime {
namespace {

// A name that the cache may list, and its file.
struct Candidate {
  std::string_view name;
  const LibraryFile* file = nullptr;
  bool link = false;  // the file is a link of that same name
};

Candidate CandidateOf(const LibraryFile& file) {
  const std::string_view soname = file.soname.empty() ? file.name : file.soname;
  const bool own = file.link && (file.name == soname ||
                                 (file.name.ends_with(".so") && soname.starts_with(file.name)));
  return {own ? file.name : soname, &file, own};
}

// For one name: files before links, greater versions before smaller ones.
bool Before(const Candidate& a, const Candidate& b) {
  if (a.name != b.name) {
    return a.name < b.name;
  }
  if (a.link != b.link) {
    return b.link;
  }
  return elf::CompareLibraryNames(a.file->name, b.file->name) > 0;
}

struct Folder {
  std::string_view path;
  std::vector<LibraryFile> files;
};

struct Place {
  std::string_view folder;
  std::string_view name;
};

Place PlaceOf(std::string_view path) {
  const size_t name = path.rfind('/') + 1;  // 0 if there is none
  return {path.substr(0, name > 1 ? name - 1 : name), path.substr(name)};
}

}  // namespace

bool IsLibraryName(std::string_view name) {
  const bool library = name.starts_with("lib") || name.starts_with("ld-") ||
                       name.starts_with("ld.so") || name.starts_with("ld64.so");
  return library && name.find(".so") != std::string_view::npos &&
         name.find(".#prelink#") == std::string_view::npos;
}

LibraryNames NamesIn(std::string_view folder, const std::vector<LibraryFile>& files) {
  std::vector<Candidate> candidates;
  candidates.reserve(files.size());
  for (const LibraryFile& file : files) {
    if (file.library) {
      candidates.push_back(CandidateOf(file));
    }
  }
  std::ranges::sort(candidates, Before);
  const auto same = std::ranges::unique(candidates, {}, &Candidate::name);
  candidates.erase(same.begin(), same.end());
  std::vector<std::string_view> taken;
  taken.reserve(files.size());
  for (const LibraryFile& file : files) {
    if (!file.link) {
      taken.push_back(file.name);
    }
  }
  std::ranges::sort(taken);
  LibraryNames names;
  names.libraries.reserve(candidates.size());
  names.links.reserve(candidates.size());
  for (const Candidate& each : candidates) {
    const bool named = std::ranges::binary_search(taken, each.name);
    std::string path = JoinPath(folder, each.name);
    if (!each.link && !named) {
      names.links.push_back({std::string(each.file->name), path});
    }
    names.libraries.push_back({std::string(each.name), std::move(path), each.file->narrow});
  }
  return names;
}

LibraryNames NamesOf(const std::vector<elf::CachedLibrary>& libraries,
                     const std::vector<SymbolicLink>& links) {
  std::vector<Folder> folders;
  for (const elf::CachedLibrary& library : libraries) {
    const Place place = PlaceOf(library.path);
    auto folder = std::ranges::find(folders, place.folder, &Folder::path);
    if (folder == folders.end()) {
      folder = folders.insert(folder, {place.folder, {}});
      folder->files.reserve(libraries.size() + links.size());
    }
    folder->files.push_back({place.name, library.soname});
  }
  for (const SymbolicLink& link : links) {
    const Place place = PlaceOf(link.path);
    const auto folder = std::ranges::find(folders, place.folder, &Folder::path);
    if (folder == folders.end() || !IsLibraryName(place.name)) {
      continue;
    }
    const Place behind = PlaceOf(link.target);
    const bool beside = behind.folder.empty() || behind.folder == place.folder;
    std::vector<LibraryFile>& files = folder->files;
    const auto library = std::ranges::find_if(files, [&](const LibraryFile& file) {
      return beside && !file.link && (file.name == behind.name || file.soname == behind.name);
    });
    const LibraryFile file =
        library != files.end() ? LibraryFile{place.name, library->soname, true} : LibraryFile{};
    if (CandidateOf(file).link) {
      files.push_back(file);
    }
  }
  if (folders.size() == 1) {
    return NamesIn(folders.front().path, folders.front().files);
  }
  LibraryNames all;
  for (const Folder& folder : folders) {
    LibraryNames names = NamesIn(folder.path, folder.files);
    std::ranges::move(names.libraries, std::back_inserter(all.libraries));
    std::ranges::move(names.links, std::back_inserter(all.links));
  }
  return all;
}

}  // namespace gantry::container_runtime
