// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "container/containerd.h"

// The files that containerd's root file imports, read below a root; paths are host paths.
namespace gantry::container {

struct ImportedFile {
  std::string path;
  std::string text;
};

struct ImportedFiles {
  std::vector<ImportedFile> files;  // in containerd's order, without Gantry's
  size_t before_ours = 0;           // how many of them come before Gantry's drop-in
  bool ours_named = false;          // a pattern matches Gantry's; else its own import comes last
};

// A path for Gantry's drop-in, and the files that it is read among.
struct DropInPlace {
  std::string path;
  ImportedFiles imports;
  std::string remark;  // why it is not the requested path
};

// Whether the root file imports a path, itself or by a file that it imports. Uses root_path and
// root_text of the wish; the file need not exist yet.
Result<bool> IsRead(const std::string& host_root, const ContainerdWish& wish,
                    const std::string& path);

// Why the containerd that reads these files has no CRI, and what to do about it; empty: it has one.
// Uses root_path and root_text of the wish.
std::string WhyNoCri(const ContainerdWish& wish, const ImportedFiles& imports);

// Where the drop-in is read last of the files that configure the CRI plugin, if that matters:
// before 2.1 containerd replaces the entire table by a later file's. Uses the wish's paths,
// root_text, edit_root and version. `ours`: Gantry's files that are still at other paths.
Result<DropInPlace> PlaceDropIn(const std::string& host_root, const ContainerdWish& wish,
                                const std::vector<std::string>& ours);

}  // namespace gantry::container
