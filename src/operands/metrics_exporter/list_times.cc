// SPDX-License-Identifier: Apache-2.0
// When is the kubelet asked which pod holds what? When something changed, soon after it failed, and
// else seldom.
#include "operands/metrics_exporter/list_times.h"

#include <algorithm>

namespace gantry::metrics_exporter {

void ListTimes::Changed(SteadyTime now) { next_ = std::min(next_, now + kSettle); }

void ListTimes::Listed(SteadyTime now) {
  listed_ = now;
  next_ = now + (events_ ? std::max<std::chrono::milliseconds>(kSlow, options_.interval)
                         : options_.interval);
}

bool ListTimes::Failed(SteadyTime now) {
  next_ = now + std::min<std::chrono::milliseconds>(kRetry, options_.interval);
  return now - listed_ >=
         std::clamp<std::chrono::milliseconds>(2 * options_.interval, kRetry, kSlow);
}

}  // namespace gantry::metrics_exporter
