// SPDX-License-Identifier: Apache-2.0
// How does a candidate acquire and renew a lease? It reads, lease_verdict.cc decides, and it writes
// with the resourceVersion that was read, so that the server accepts only one of two candidates. A
// holder that can't renew for renew_deadline steps down, before another candidate may take the
// lease.
#include "kube/lease.h"

#include <condition_variable>
#include <mutex>

#include "base/log.h"
#include "base/text.h"
#include "kube/backoff.h"
#include "kube/failure_line.h"
#include "kube/lease_verdict.h"

namespace gantry::kube {
namespace {

void WaitFor(std::chrono::nanoseconds delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, delay, [] { return false; });
}

}  // namespace

struct Lease::Observed {
  Json stored;  // the lease as read or written last; null: there is none
  LeaseSight sight;
  SteadyTime renewed{};  // the start of this candidate's last successful write
};

Status Lease::Check(const LeaseOptions& options) {
  if (options.identity.empty() || options.lease.name.empty() || options.lease.ns.empty()) {
    return Fail(ErrorKind::kInvalid, "lease: name, namespace and identity must be set");
  }
  if (options.retry_period.count() <= 0 || options.retry_period >= options.renew_deadline ||
      options.renew_deadline >= options.lease_duration) {
    return Fail(ErrorKind::kInvalid,
                "lease: must hold: 0 < retry period < renew deadline < lease duration");
  }
  return {};
}

Lease::Lease(Client& client, LeaseOptions options, LeaseCallbacks callbacks, const Clock& clock)
    : client_(client),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      clock_(clock) {
  CHECK(Check(options_).has_value());
}

Lease::~Lease() { Stop(); }

void Lease::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Lease::Stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

// One read and, if this candidate may hold the lease, one write.
Status Lease::Attempt(Client& client, Observed& observed) {
  const SteadyTime began = clock_.Now();
  // The holder knows the stored object; the write's precondition fails if it has changed.
  if (!held_ || observed.stored.is_null()) {
    Result<Json> stored = client.Get(kinds::kLease, options_.lease);
    if (!stored.has_value() && stored.error().kind != ErrorKind::kNotFound) {
      return std::unexpected(stored.error());
    }
    observed.stored = stored.value_or(Json());
    observed.sight = See(observed.sight, observed.stored, clock_.Now());
  }
  if (Judge(observed.sight, options_.identity, clock_.Now()) == LeaseVerdict::kHeldByOther) {
    return Fail(ErrorKind::kConflict, format("held by {}", observed.sight.holder));
  }
  const Json next = NextLease(observed.stored, options_.lease, options_.identity,
                              options_.lease_duration, clock_.Wall());
  Result<Json> written = observed.stored.is_null() ? client.Create(kinds::kLease, next)
                                                   : client.Replace(kinds::kLease, next);
  if (!written.has_value()) {
    observed.stored = Json();
    return std::unexpected(written.error());
  }
  observed.stored = *std::move(written);
  observed.sight = See(observed.sight, observed.stored, clock_.Now());
  observed.renewed = began;
  return {};
}

void Lease::Run(const std::stop_token& stop) {
  Observed observed;
  std::string told_leader;
  FailureLine line;
  int failures = 0;
  while (!stop.stop_requested()) {
    // An attempt is two requests at most, and must not outlast the deadline at which a holder steps
    // down.
    std::chrono::milliseconds limit = options_.renew_deadline;
    if (held_) {
      limit = std::chrono::ceil<std::chrono::milliseconds>(observed.renewed +
                                                           options_.renew_deadline - clock_.Now());
    }
    const Status attempt =
        limit.count() > 0
            ? Attempt(*client_.Bounded(stop, std::max(limit / 2, std::chrono::milliseconds(1))),
                      observed)
            : Fail(ErrorKind::kTimeout, "renew deadline passed");
    if (stop.stop_requested()) {
      break;
    }
    if (observed.sight.holder != told_leader) {
      told_leader = observed.sight.holder;
      callbacks_.leader_changed(told_leader);
    }
    if (attempt.has_value() && !held_.exchange(true)) {
      callbacks_.acquired();
    }
    const bool taken = !attempt.has_value() && attempt.error().kind == ErrorKind::kConflict &&
                       observed.sight.holder != options_.identity;
    const bool late = clock_.Now() >= observed.renewed + options_.renew_deadline;
    if (held_ && !attempt.has_value() && (taken || late)) {
      held_ = false;
      callbacks_.lost(attempt.error());
      return;
    }
    failures = attempt.has_value() ? 0 : failures + 1;
    // Another holder was reported.
    if (!attempt.has_value() && attempt.error().kind != ErrorKind::kConflict &&
        line.Due(attempt.error().message, failures)) {
      log::Warning("{} ({}, failure {} in a row)", attempt.error().message,
                   KindName(attempt.error().kind), failures);
    }
    std::chrono::nanoseconds pause =
        Backoff{.base = options_.retry_period, .limit = options_.retry_period}.Delay(1, Random());
    if (held_) {
      pause = std::min<std::chrono::nanoseconds>(
          pause, observed.renewed + options_.renew_deadline - clock_.Now());
    }
    WaitFor(pause, stop);
  }
  if (held_ && options_.release_on_stop) {
    Release(observed);
  }
  held_ = false;
}

void Lease::Release(const Observed& observed) {
  if (observed.stored.is_null()) {
    return;
  }
  const Json next =
      NextLease(observed.stored, options_.lease, "", options_.lease_duration, clock_.Wall());
  const Result<Json> given_back =
      client_.Bounded({}, options_.retry_period)->Replace(kinds::kLease, next);
  if (!given_back.has_value()) {
    log::Debug("give back lease (it runs out by itself): {}", given_back.error().message);
  }
}

}  // namespace gantry::kube
