// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "operands/cuda_toolkit/cuda_version.h"
#include "operands/cuda_toolkit/tree.h"

namespace gantry::cuda_toolkit {

// Folders of the CUDA root: the copies, each with a name of its own, and links "cuda-12.4" to those
// that count.
std::string CopiesDir(const std::string& cuda_root);
std::string LinkPath(const std::string& cuda_root, std::string_view release);

struct CopyRequest {
  std::string version;    // "12.4", "12.4.1"
  std::string from;       // a root with usr/local/cuda-12.4 or usr/local/cuda in it, or with
                          // cuda-12.4, or such a folder itself
  std::string cuda_root;  // is made if it is not there
};

struct Copied {
  std::string version;   // as it was found: "12.4.1"
  std::string path;      // of the copy
  bool written = false;  // false: it was there already, whole
};

// Copies CUDA to the node and turns the link of its release to it. Whoever looks sees a whole copy
// or none. Blocks while another process copies. kInvalid: what was found is not the version;
// kNotFound: nothing was found, the message says where; kUnavailable: the disk has no room.
Result<Copied> CopyToolkit(const CopyRequest& request);

// What the folder at `path` (below `root`) says of itself.
ToolkitFacts FactsOf(const std::string& root, const std::string& path);

// What lies in a folder; `own` as TargetInCopy has it. Devices, sockets and pipes are left out.
Result<Tree> ReadTree(const std::string& folder, const std::vector<std::string>& own);

}  // namespace gantry::cuda_toolkit
