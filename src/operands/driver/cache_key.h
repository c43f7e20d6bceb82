// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::driver {

// Everything that decides the compiler's output.
struct CacheInput {
  std::string kernel_release;
  std::string version;
  bool open = false;
  std::string sources;   // fingerprint of their content
  std::string headers;   // fingerprint of what distinguishes this kernel's build from others
  std::string compiler;  // output of `CC --version`
};

// A file name: "6.1.0-50-amd64_535.247.01_open_<16 hexadecimal digits>". Equal inputs have equal
// names; the digits are of all fields.
std::string CacheKey(const CacheInput& input);

// The entries of a cache folder to remove: leftovers of interrupted compiles, and, while there are
// more than `most` entries, those of other kernels than `kernel`, oldest first. `entries` are
// sorted by age, oldest first.
std::vector<std::string> Outdated(const std::vector<std::string>& entries, std::string_view kernel,
                                  size_t most);

// Prefix of an entry that is being made; a leftover belongs to an ended process.
inline constexpr std::string_view kUnfinished = ".unfinished-";

}  // namespace gantry::driver
