// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda_toolkit {

// An entry below a folder to copy.
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
using Tree = std::vector<TreeEntry>;  // by path, so a folder comes before its content

// The target of a link in the copy. `own`: the folder's paths in its source
// ("/usr/local/cuda-12.4"); a target below one of them becomes relative, so that it leads into the
// copy.
std::string TargetInCopy(std::string_view link, std::string_view target,
                         const std::vector<std::string>& own);

// Equal exactly for trees with equal names, sizes, times and targets.
std::string FingerprintOf(const Tree& tree);

// The size of its files in bytes.
long long SizeOf(const Tree& tree);

}  // namespace gantry::cuda_toolkit
