// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::cuda_toolkit {

// What a folder says of the CUDA that it holds.
struct ToolkitFacts {
  std::string version_json;           // the text of its version.json; empty: there is none
  std::vector<std::string> runtimes;  // names of its library folder that begin with libcudart.so
  std::vector<std::string> entries;   // names in the folder itself
};

// "12.4" of "12.4" and of "12.4.1".
std::string ReleaseOf(std::string_view version);

// The version of a folder that shall be CUDA `wanted` (two or three numbers): "12.4.1", or "12.4"
// if it does not say the patch. kInvalid says what was found instead.
Result<std::string> ToolkitVersion(const ToolkitFacts& facts, std::string_view wanted);

}  // namespace gantry::cuda_toolkit
