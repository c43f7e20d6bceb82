// SPDX-License-Identifier: Apache-2.0
// How does an object write its API group and version? The core group, alone, has no name.
#include "kube/kind.h"

#include "base/text.h"

namespace gantry::kube {

std::string Kind::ApiVersion() const {
  return group.empty() ? std::string(version) : format("{}/{}", group, version);
}

}  // namespace gantry::kube
