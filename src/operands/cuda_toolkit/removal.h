// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda_toolkit {

// Which of the copies a mount list (proc(5), /proc/PID/mountinfo) has mounted, whole or in part.
std::set<std::string> MountedCopies(std::string_view mountinfo,
                                    const std::vector<std::string>& copies);

// Which of them a CDI document names.
std::set<std::string> NamedCopies(std::string_view document,
                                  const std::vector<std::string>& copies);

// What lies in the CUDA root.
struct CudaRoot {
  std::map<std::string, std::string> links;  // release -> the copy that counts
  std::vector<std::string> copies;           // by name
};

struct Removal {
  std::vector<std::string> releases;  // whose links go
  std::vector<std::string> copies;    // that go; nothing names them after the links have gone
  bool waits = false;                 // a copy that nothing names is still used
};

// A release stays while the policy names it or its copy is used, a copy while a release that stays
// leads to it or it is used itself.
Removal WhatToRemove(const CudaRoot& root, const std::set<std::string>& used,
                     std::string_view release);

}  // namespace gantry::cuda_toolkit
