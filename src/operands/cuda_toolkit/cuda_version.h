// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::cuda_toolkit {

// Facts on a folder with CUDA.
struct ToolkitFacts {
  std::string version_json;           // the content of its version.json; empty: none
  std::vector<std::string> runtimes;  // names in its library folder that begin with libcudart.so
  std::vector<std::string> entries;   // names in the folder itself
};

// "12.4" for "12.4" and for "12.4.1".
std::string ReleaseOf(std::string_view version);

// The version of a folder that must be CUDA `wanted` (two or three numbers): "12.4.1", or "12.4" if
// the patch is unknown. kInvalid names what was found instead.
Result<std::string> ToolkitVersion(const ToolkitFacts& facts, std::string_view wanted);

}  // namespace gantry::cuda_toolkit
