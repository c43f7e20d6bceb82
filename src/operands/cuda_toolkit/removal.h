// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda_toolkit {

// The copies that a mount list (proc(5), /proc/PID/mountinfo) contains, fully or in part.
std::set<std::string> MountedCopies(std::string_view mountinfo,
                                    const std::vector<std::string>& copies);

// The copies that a CDI document names.
std::set<std::string> NamedCopies(std::string_view document,
                                  const std::vector<std::string>& copies);

// The content of the CUDA root.
struct CudaRoot {
  std::map<std::string, std::string> links;  // release -> the current copy
  std::vector<std::string> copies;           // by name
};

struct Removal {
  std::vector<std::string> releases;  // whose links are removed
  std::vector<std::string> copies;    // to remove after the links
  bool waits = false;                 // an unnamed copy is still used
};

// A release stays while the policy names it or its copy is used; a copy stays while it is used or
// the current one of a release that stays.
Removal WhatToRemove(const CudaRoot& root, const std::set<std::string>& used,
                     std::string_view release);

}  // namespace gantry::cuda_toolkit
