// SPDX-License-Identifier: Apache-2.0
// How do workers run reconciles, and what does the queue do after each? Only this file logs a
// reconcile's failure.
#include "kube/controller.h"

#include "base/log.h"

namespace gantry::kube {

Controller::Controller(std::string name, Reconcile reconcile, int workers, Backoff backoff,
                       const Clock& clock)
    : reconcile_(std::move(reconcile)),
      clock_(clock),
      queue_(backoff, clock),
      metrics_{.name = std::move(name), .workers = workers} {}

Controller::~Controller() { Stop(); }

void Controller::Start() {
  for (int i = 0; i < metrics_.workers; ++i) {
    workers_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
  }
}

void Controller::Stop() {
  for (std::jthread& worker : workers_) {
    worker.request_stop();
  }
  workers_.clear();
}

void Controller::Work(const std::stop_token& stop) {
  while (const std::optional<std::string> key = queue_.Take(stop)) {
    const SteadyTime began = clock_.Now();
    {
      const std::scoped_lock lock(mutex_);
      ++metrics_.active;
    }
    const Outcome outcome = reconcile_(*key);
    Count(outcome, began);
    Finish(*key, outcome);
  }
}

void Controller::Count(const Outcome& outcome, SteadyTime began) {
  const std::scoped_lock lock(mutex_);
  --metrics_.active;
  metrics_.seconds.Observe(std::chrono::duration<double>(clock_.Now() - began).count());
  if (std::holds_alternative<Error>(outcome)) {
    ++metrics_.errors;
  } else {
    ++(std::holds_alternative<RetryAfter>(outcome) ? metrics_.retries : metrics_.successes);
  }
}

ControllerMetrics Controller::metrics() const {
  const std::scoped_lock lock(mutex_);
  ControllerMetrics metrics = metrics_;
  metrics.waiting = queue_.size();
  return metrics;
}

void Controller::Finish(const std::string& key, const Outcome& outcome) {
  if (const auto* error = std::get_if<Error>(&outcome)) {
    queue_.Failed(key, error->kind);
    LogFailure(key, *error, queue_.Failures(key));
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    logged_.erase(key);
  }
  if (const auto* retry = std::get_if<RetryAfter>(&outcome)) {
    queue_.AddAfter(key, retry->delay);
  }
  queue_.Done(key);
}

void Controller::LogFailure(const std::string& key, const Error& error, int failures) {
  // Another writer was faster: the next try reads its version.
  if (error.kind == ErrorKind::kConflict && failures == 1) {
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (!logged_[key].Due(error.message, failures)) {
      return;
    }
  }
  log::Warning("{} {}: {} ({}, failure {} in a row)", metrics_.name, key, error.message,
               KindName(error.kind), failures);
}

}  // namespace gantry::kube
