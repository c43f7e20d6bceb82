// SPDX-License-Identifier: Apache-2.0
// Which CUDA copies are removed from a node? Those that the policy no longer names, once no
// container uses them: each release takes some gigabytes of the disk that pods share.
#include "operands/cuda_toolkit/removal.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::cuda_toolkit {

std::set<std::string> MountedCopies(std::string_view mountinfo,
                                    const std::vector<std::string>& copies) {
  std::set<std::string> mounted;
  for (const std::string& line : Split(mountinfo, '\n')) {
    // 36 35 98:0 /root/in/the/file/system /mount/point rw,noatime ...
    const std::vector<std::string> fields = Split(line, ' ');
    if (fields.size() < 5) {
      continue;
    }
    const std::string place = fields[3] + "/";
    for (const std::string& copy : copies) {
      if (place.find(format("/versions/{}/", copy)) != std::string::npos) {
        mounted.insert(copy);
      }
    }
  }
  return mounted;
}

std::set<std::string> NamedCopies(std::string_view document,
                                  const std::vector<std::string>& copies) {
  std::set<std::string> named;
  for (const std::string& copy : copies) {
    if (document.find(format("/versions/{}\"", copy)) != std::string_view::npos) {
      named.insert(copy);
    }
  }
  return named;
}

Removal WhatToRemove(const CudaRoot& root, const std::set<std::string>& used,
                     std::string_view release) {
  Removal removal;
  std::set<std::string> named;
  for (const auto& [other, copy] : root.links) {
    if (other == release || used.contains(copy)) {
      named.insert(copy);
      removal.waits = removal.waits || other != release;
    } else {
      removal.releases.push_back(other);
    }
  }
  for (const std::string& copy : root.copies) {
    if (named.contains(copy)) {
      continue;
    }
    if (used.contains(copy)) {
      removal.waits = true;
    } else {
      removal.copies.push_back(copy);
    }
  }
  return removal;
}

}  // namespace gantry::cuda_toolkit
