// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::driver {

// All that decides what comes out of a compiler.
struct CacheInput {
  std::string kernel_release;
  std::string version;
  bool open = false;
  std::string sources;   // fingerprint of their content
  std::string headers;   // fingerprint of what tells this kernel's build from another's
  std::string compiler;  // what `CC --version` says
};

// A file name: "6.1.0-50-amd64_535.247.01_open_<16 hexadecimal digits>". Equal inputs have equal
// names; the digits are of all fields.
std::string CacheKey(const CacheInput& input);

// Of the entries of a cache folder, those that no start will use: what an interrupted compile left,
// and what is of other kernels than `kernel` while there are more than `most` entries, oldest
// first. `entries` are sorted by age, oldest first.
std::vector<std::string> Outdated(const std::vector<std::string>& entries, std::string_view kernel,
                                  size_t most);

// Names of what is being made; one that is left over is of a process that ended.
inline constexpr std::string_view kUnfinished = ".unfinished-";

}  // namespace gantry::driver
