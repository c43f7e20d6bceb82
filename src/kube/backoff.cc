// SPDX-License-Identifier: Apache-2.0
// How long is the wait after a failure? It depends on the error's kind and the number of failures
// before. A person must fix missing rights (kDenied) or an invalid object, so these are not retried
// every second.
#include "kube/backoff.h"

#include <algorithm>
#include <random>

namespace gantry::kube {
namespace {

constexpr std::chrono::milliseconds kDeniedAtLeast{30'000};
constexpr std::chrono::milliseconds kConflictAtMost{1'000};

}  // namespace

std::chrono::milliseconds Backoff::Delay(int failures, uint64_t random) const {
  // 2^40 times any base is over any limit, and below the overflow.
  const int doublings = std::clamp(failures - 1, 0, 40);
  std::chrono::milliseconds full = base;
  for (int i = 0; i < doublings && full < limit; ++i) {
    full *= 2;
  }
  full = std::min(full, limit);
  const uint64_t half = static_cast<uint64_t>(full.count()) / 2;
  return full - std::chrono::milliseconds(half == 0 ? 0 : random % (half + 1));
}

std::optional<std::chrono::milliseconds> RetryDelay(ErrorKind kind, int failures,
                                                    const Backoff& backoff, uint64_t random) {
  const std::chrono::milliseconds delay = backoff.Delay(failures, random);
  switch (kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kUnsupported:
      return std::nullopt;
    case ErrorKind::kConflict:
      return std::min(delay, kConflictAtMost);
    case ErrorKind::kDenied:
      return std::max(delay, kDeniedAtLeast);
    case ErrorKind::kNotFound:
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
    case ErrorKind::kInternal:
      break;
  }
  return delay;
}

uint64_t Random() {
  thread_local std::mt19937_64 generator{[] {
    std::random_device device;
    return (uint64_t{device()} << 32U) | device();
  }()};
  return generator();
}

}  // namespace gantry::kube
