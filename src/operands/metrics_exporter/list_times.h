// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/clock.h"

namespace gantry::metrics_exporter {

// When the kubelet is asked for its pods.
class ListTimes {
 public:
  struct Options {
    std::chrono::milliseconds interval;  // of samples
  };
  // A call that failed is repeated so soon; changes in a row are one.
  static constexpr std::chrono::seconds kRetry{5};
  static constexpr std::chrono::milliseconds kSettle{100};
  // What else may have changed is found so late, and no answer counts for longer while the kubelet
  // gives none.
  static constexpr std::chrono::seconds kSlow{60};

  explicit ListTimes(Options options) : options_(options) {}

  // Whether changes are seen. If not, each interval may have one.
  void SetEvents(bool seen) { events_ = seen; }
  void Changed(SteadyTime now);
  void Listed(SteadyTime now);
  // Whether what was listed last is too old to count.
  bool Failed(SteadyTime now);
  [[nodiscard]] SteadyTime next() const { return next_; }

 private:
  const Options options_;
  bool events_ = false;
  SteadyTime next_{};
  SteadyTime listed_{};
};

}  // namespace gantry::metrics_exporter
