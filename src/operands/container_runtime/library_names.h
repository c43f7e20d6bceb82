// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elf/library_cache.h"
#include "operands/container_runtime/container_root.h"

// ldconfig's result for the files of a folder: the names for the linker's cache, and the links that
// those names need.
namespace gantry::container_runtime {

// A library in a folder, or a symbolic link to one; views of the caller's strings.
struct LibraryFile {
  std::string_view name;
  std::string_view soname = {};  // of the library, also through a link; empty: none
  bool link = false;
  bool narrow = false;  // of 32 bits
  bool library = true;  // false: another file, which keeps its name
};

struct LibraryNames {
  std::vector<elf::CachedLibrary> libraries;
  std::vector<SymbolicLink> links;  // from SONAMEs to files
};

// Whether ldconfig reads a file of that name: "lib*.so*", and the dynamic linker itself.
bool IsLibraryName(std::string_view name);

// Each SONAME leads to the file with the greatest version. A link has its own name if it is the
// SONAME or the name that ld(1) searches: "libcuda.so" for "libcuda.so.1". A library without a
// SONAME has its file's name. A file that has a SONAME's name keeps it.
LibraryNames NamesIn(std::string_view folder, const std::vector<LibraryFile>& files);

// The same for libraries with known SONAMEs and paths, and the links made to them.
LibraryNames NamesOf(const std::vector<elf::CachedLibrary>& libraries,
                     const std::vector<SymbolicLink>& links);

}  // namespace gantry::container_runtime
