// SPDX-License-Identifier: Apache-2.0

// How do the names of a precompiled driver's DaemonSets write a kernel?

#include "operator/desired/kernel_name.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::gpu_operator {

std::string DottedKernel(std::string_view kernel) {
  std::string name = Lower(kernel);
  std::ranges::replace(name, '_', '.');
  while (name.ends_with('.')) {
    name.pop_back();
  }
  return name;
}

std::string ShortKernel(std::string_view kernel) {
  std::string name = Lower(kernel);
  for (const std::string_view machine : {"x86_64_64k", "aarch64_64k", "x86_64", "aarch64"}) {
    if (const size_t at = name.find(machine); at != std::string::npos) {
      name.erase(at, machine.size());
    }
  }
  return DottedKernel(name);
}

}  // namespace gantry::gpu_operator
