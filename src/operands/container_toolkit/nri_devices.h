// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "container/nri.h"

namespace gantry::container_toolkit {

struct NriDecision {
  std::vector<std::string> devices;  // CDI names
  std::vector<std::string> refused;  // asked for, but not for pods of this namespace
};

// What the annotations of a pod give one of its containers. The most specific annotation alone
// counts. Management devices (every GPU of the node) are for pods of `management_namespaces` only.
NriDecision DevicesOf(const container::NriContainer& container,
                      const std::vector<std::string>& management_namespaces);

}  // namespace gantry::container_toolkit
