// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/error.h"

namespace gantry::kube {

// Exponential, from base to limit, each delay drawn from its upper half so that many clients don't
// retry at the same moment.
struct Backoff {
  std::chrono::milliseconds base{100};
  std::chrono::milliseconds limit{60'000};

  // The delay after so many failures in a row (1: the first). `random` is any 64 bits.
  [[nodiscard]] std::chrono::milliseconds Delay(int failures, uint64_t random) const;
};

// How long to wait after an error of that kind; nullopt: until the input changes. kConflict is
// retried soon whatever the count; kDenied after at least 30 s.
std::optional<std::chrono::milliseconds> RetryDelay(ErrorKind kind, int failures,
                                                    const Backoff& backoff, uint64_t random);

// 64 bits from the thread's own generator, seeded by the system.
uint64_t Random();

}  // namespace gantry::kube
