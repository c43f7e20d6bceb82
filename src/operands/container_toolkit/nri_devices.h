// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "container/nri.h"

namespace gantry::container_toolkit {

struct NriDecision {
  std::vector<std::string> devices;  // CDI names
  std::vector<std::string> refused;  // requested, but not allowed in this namespace
};

// The devices that a pod's annotations give one of its containers. Only the most specific
// annotation counts. Management devices (every GPU of the node) are for pods of
// `management_namespaces` only.
NriDecision DevicesOf(const container::NriContainer& container,
                      const std::vector<std::string>& management_namespaces);

}  // namespace gantry::container_toolkit
