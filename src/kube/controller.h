// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/error.h"
#include "kube/controller_metrics.h"
#include "kube/failure_line.h"
#include "kube/work_queue.h"

namespace gantry::kube {

// The result of one reconcile of a key.
struct Done {};
struct RetryAfter {
  std::chrono::milliseconds delay{};
};
using Outcome = std::variant<Done, RetryAfter, Error>;

// Worker threads that take keys from a queue and reconcile them. Only the controller logs failures:
// when the message is new for the key, and then at every doubling of the count.
class Controller {
 public:
  using Reconcile = std::function<Outcome(const std::string& key)>;
  // The name is used in log lines and metrics. Start may be called once.
  Controller(std::string name, Reconcile reconcile, int workers = 1, Backoff backoff = {},
             const Clock& clock = RealClock());
  // Stops: waits for running reconciles.
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void Enqueue(const std::string& key) { queue_.Add(key); }
  void EnqueueAfter(const std::string& key, std::chrono::milliseconds delay) {
    queue_.AddAfter(key, delay);
  }
  void Start();
  void Stop();

  [[nodiscard]] size_t waiting() const { return queue_.size(); }
  [[nodiscard]] ControllerMetrics metrics() const;

 private:
  void Work(const std::stop_token& stop);
  void Finish(const std::string& key, const Outcome& outcome);
  void LogFailure(const std::string& key, const Error& error, int failures);

  void Count(const Outcome& outcome, SteadyTime began);

  const Reconcile reconcile_;
  const Clock& clock_;
  WorkQueue queue_;
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<std::string, FailureLine> logged_;
  ControllerMetrics metrics_;
  std::vector<std::jthread> workers_;
};

}  // namespace gantry::kube
