// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda_toolkit {

// One thing below a folder that is copied.
struct TreeEntry {
  enum class Kind { kFolder, kFile, kLink };
  Kind kind = Kind::kFile;
  std::string path;  // below the folder: "bin/nvcc"
  long long size = 0;
  long long modified = 0;  // seconds since the epoch
  bool executable = false;
  std::string target = {};  // of a link
  bool operator==(const TreeEntry&) const = default;
};
using Tree = std::vector<TreeEntry>;  // by path, so a folder stands before what is in it

// The target that a link of the copy has. `own`: paths by which the folder is called where it comes
// from ("/usr/local/cuda-12.4"); a target below one of them becomes relative, so that it leads into
// the copy.
std::string TargetInCopy(std::string_view link, std::string_view target,
                         const std::vector<std::string>& own);

// The same for trees with the same names, sizes, times and targets, and for no others.
std::string FingerprintOf(const Tree& tree);

// Bytes that its files take.
long long SizeOf(const Tree& tree);

}  // namespace gantry::cuda_toolkit
