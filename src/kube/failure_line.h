// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry::kube {

// Which of one thing's failures get a log line: one whose message is new, and the 1st, 2nd, 4th,
// 8th ... in a row, so that a broken cluster does not fill the disk.
class FailureLine {
 public:
  // `failures` in a row, including this one.
  [[nodiscard]] bool Due(const std::string& message, int failures);

 private:
  std::string last_;
};

}  // namespace gantry::kube
