// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "operands/cuda_toolkit/cuda_version.h"
#include "operands/cuda_toolkit/tree.h"

namespace gantry::cuda_toolkit {

// Folders of the CUDA root: the copies, each with a name of its own, and links "cuda-12.4" to the
// current ones.
std::string CopiesDir(const std::string& cuda_root);
std::string LinkPath(const std::string& cuda_root, std::string_view release);

struct CopyRequest {
  std::string version;    // "12.4", "12.4.1"
  std::string from;       // a root with usr/local/cuda-12.4 or usr/local/cuda in it, or with
                          // cuda-12.4, or such a folder itself
  std::string cuda_root;  // made if missing
};

struct Copied {
  std::string version;   // as found: "12.4.1"
  std::string path;      // of the copy
  bool written = false;  // false: it existed, complete
};

// Copies CUDA to the node and points its release's link to it. Readers see a complete copy or none.
// Blocks while another process copies. kInvalid: it is another version; kNotFound: nothing was
// found, the message names the paths; kUnavailable: the disk has no space.
Result<Copied> CopyToolkit(const CopyRequest& request);

// The facts on the folder at `path` (below `root`).
ToolkitFacts FactsOf(const std::string& root, const std::string& path);

// The content of a folder; `own` as in TargetInCopy. Devices, sockets and pipes are left out.
Result<Tree> ReadTree(const std::string& folder, const std::vector<std::string>& own);

}  // namespace gantry::cuda_toolkit
