// SPDX-License-Identifier: Apache-2.0
// When are two copies equal? Decided by names, sizes, times and targets, as in rsync, without
// reading gigabytes of content.
#include "operands/cuda_toolkit/tree.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "host/files.h"

namespace gantry::cuda_toolkit {

std::string TargetInCopy(std::string_view link, std::string_view target,
                         const std::vector<std::string>& own) {
  for (const std::string& path : own) {
    if (!target.starts_with(path + "/")) {
      continue;
    }
    std::string relative;
    for (const char c : link) {
      relative += c == '/' ? "../" : "";
    }
    return relative.append(target.substr(path.size() + 1));
  }
  return std::string(target);
}

std::string FingerprintOf(const Tree& tree) {
  std::string text;
  for (const TreeEntry& entry : tree) {
    text += format("{} {} {} {} {}", static_cast<int>(entry.kind), entry.size, entry.modified,
                   entry.executable, entry.path);
    // No name contains a null byte.
    text.append(1, '\0').append(entry.target).append(1, '\0');
  }
  const std::string whole = host::Fingerprint(text);
  return whole.substr(0, whole.find('-'));
}

long long SizeOf(const Tree& tree) {
  return std::accumulate(tree.begin(), tree.end(), 0LL,
                         [](long long sum, const TreeEntry& entry) { return sum + entry.size; });
}

}  // namespace gantry::cuda_toolkit
