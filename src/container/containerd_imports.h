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
  std::vector<ImportedFile> files;  // in containerd's order, without ours
  size_t before_ours = 0;           // how many of them are read before our drop-in
  bool ours_named = false;          // a pattern matches ours; else its own import comes last
};

// A drop-in of ours and what it is read among.
struct DropInPlace {
  std::string path;
  ImportedFiles imports;
  std::string remark;  // why it is not the place that was wished for
};

// Whether the root file imports a path, itself or by a file that it imports. Of the wish root_path
// and root_text count; the file need not be there yet.
Result<bool> IsRead(const std::string& host_root, const ContainerdWish& wish,
                    const std::string& path);

// Why the containerd that reads these files has no CRI, and what to do about it; empty: it has one.
// Of the wish root_path and root_text count.
std::string WhyNoCri(const ContainerdWish& wish, const ImportedFiles& imports);

// Where our drop-in is read last of those that configure the CRI plugin, if that matters: before
// 2.1 containerd replaces the whole table by a later file's. Of the wish its paths, root_text,
// edit_root and version count. `ours`: files of ours that lie at other places still.
Result<DropInPlace> PlaceDropIn(const std::string& host_root, const ContainerdWish& wish,
                                const std::vector<std::string>& ours);

}  // namespace gantry::container
