// SPDX-License-Identifier: Apache-2.0
// Runs reconciles: takes keys, calls, and turns the outcome into what the queue does next. The one
// place where a reconcile's failure is logged.
#include "kube/controller.h"

#include "base/log.h"

namespace gantry::kube {

Controller::Controller(std::string name, Reconcile reconcile, int workers, Backoff backoff,
                       const Clock& clock)
    : name_(std::move(name)),
      reconcile_(std::move(reconcile)),
      worker_count_(workers),
      queue_(backoff, clock) {}

Controller::~Controller() { Stop(); }

void Controller::Start() {
  for (int i = 0; i < worker_count_; ++i) {
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
    Finish(*key, reconcile_(*key));
  }
}

void Controller::Finish(const std::string& key, const Outcome& outcome) {
  if (const auto* error = std::get_if<Error>(&outcome)) {
    queue_.Failed(key, error->kind);
    LogFailure(key, *error, queue_.Failures(key));
    return;
  }
  {
    const std::scoped_lock lock(logged_mutex_);
    logged_.erase(key);
  }
  if (const auto* retry = std::get_if<RetryAfter>(&outcome)) {
    queue_.AddAfter(key, retry->delay);
  }
  queue_.Done(key);
}

void Controller::LogFailure(const std::string& key, const Error& error, int failures) {
  // Somebody else was faster: the next try reads their version.
  if (error.kind == ErrorKind::kConflict && failures == 1) {
    return;
  }
  {
    const std::scoped_lock lock(logged_mutex_);
    if (!logged_[key].Due(error.message, failures)) {
      return;
    }
  }
  log::Warning("{} {}: {} ({}, failure {} in a row)", name_, key, error.message,
               KindName(error.kind), failures);
}

}  // namespace gantry::kube
