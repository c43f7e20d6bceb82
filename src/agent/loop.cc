// SPDX-License-Identifier: Apache-2.0
// When does an agent inspect its node again? After an event that can change what is published, and
// otherwise seldom. A failure does not change what is published.
#include "agent/loop.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kube/backoff.h"

namespace gantry::agent {
namespace {

constexpr kube::Backoff kBackoff{.base = std::chrono::milliseconds(500),
                                 .limit = std::chrono::seconds(60)};

}  // namespace

int Loop::Run(const std::function<Status()>& look,
              const std::function<SteadyTime(const Status& looked)>& next, const Source& source,
              const std::function<bool()>& once) {
  while (true) {
    const Status looked = look();
    LogFailure(looked);
    if (once()) {
      return looked.has_value() ? 0 : 1;
    }
    if (!Wait(Retry(looked, next(looked)), source)) {
      return 0;
    }
  }
}

void Loop::LogFailure(const Status& looked) {
  const std::string error = looked.has_value() ? "" : looked.error().message;
  if (std::exchange(last_error_, error) == error || error.empty()) {
    return;
  }
  const bool absent =
      looked.error().kind == ErrorKind::kNotFound || looked.error().kind == ErrorKind::kUnavailable;
  log::Write(absent ? options_.absence : log::Level::kWarning, options_.failure + ": " + error);
}

// A missing or wrong input sends an event once it is fixed; only transient failures are retried.
SteadyTime Loop::Retry(const Status& looked, SteadyTime next) {
  failures_ = looked.has_value() ? 0 : failures_ + 1;
  if (looked.has_value()) {
    return next;
  }
  const auto delay = kube::RetryDelay(looked.error().kind, failures_, kBackoff, kube::Random());
  return delay ? std::min(next, RealClock().Now() + *delay) : next;
}

// False once the program should end.
bool Loop::Wait(SteadyTime deadline, const Source& source) {
  const std::array descriptors = {signals_.stop_fd(), signals_.reload_fd(), watcher_.fd(),
                                  source.fd};
  while (true) {
    const std::vector<bool> ready = host::WaitReadable(descriptors, deadline);
    if (ready[0]) {
      return false;
    }
    if (ready[1] && signals_.TakeReload()) {
      verify_at_ = RealClock().Now();
      return true;
    }
    // Events of unwatched paths (a neighbour of a file) are ignored.
    const bool changed = ready[2] && !watcher_.Take().empty();
    const bool happened = ready[3] && source.happened();
    const SteadyTime now = RealClock().Now();
    if (changed || happened) {
      deadline = std::min(deadline, now + options_.settle);
    }
    if (now >= deadline) {
      return true;
    }
  }
}

bool Loop::VerifyIsDue() const { return RealClock().Now() >= verify_at_; }

void Loop::Verified() { verify_at_ = RealClock().Now() + options_.verify_after; }

}  // namespace gantry::agent
