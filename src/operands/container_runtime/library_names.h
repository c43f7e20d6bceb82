// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elf/library_cache.h"
#include "operands/container_runtime/container_root.h"

// What ldconfig makes of the files of a folder: the names that the linker's cache lists, and the
// links that those names need.
namespace gantry::container_runtime {

// A library in a folder, or a symbolic link to one; views of what the caller keeps.
struct LibraryFile {
  std::string_view name;
  std::string_view soname = {};  // of the library, also behind a link; empty: it has none
  bool link = false;
  bool narrow = false;  // of 32 bits
  bool library = true;  // false: another file, which keeps its name
};

struct LibraryNames {
  std::vector<elf::CachedLibrary> libraries;
  std::vector<SymbolicLink> links;  // from SONAMEs to files
};

// Whether ldconfig looks into a file of that name: "lib*.so*", and the dynamic linker itself.
bool IsLibraryName(std::string_view name);

// Each SONAME leads to the file with the greatest version. A link has a name of its own if it is
// the SONAME or the name that ld(1) looks for: "libcuda.so" of "libcuda.so.1". A library without a
// SONAME is called as its file. A file that has a SONAME's name keeps it.
LibraryNames NamesIn(std::string_view folder, const std::vector<LibraryFile>& files);

// The same for libraries whose SONAMEs and paths are known, with the links that are made to them.
LibraryNames NamesOf(const std::vector<elf::CachedLibrary>& libraries,
                     const std::vector<SymbolicLink>& links);

}  // namespace gantry::container_runtime
