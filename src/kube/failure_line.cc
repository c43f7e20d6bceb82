// SPDX-License-Identifier: Apache-2.0
// How often is a repeated failure logged?
#include "kube/failure_line.h"

#include <bit>

namespace gantry::kube {

bool FailureLine::Due(const std::string& message, int failures) {
  if (message == last_ && !std::has_single_bit(static_cast<unsigned>(failures))) {
    return false;
  }
  last_ = message;
  return true;
}

}  // namespace gantry::kube
