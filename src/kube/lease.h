// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "kube/client.h"

namespace gantry::kube {

// Leader election by a coordination.k8s.io/v1 Lease, compatible with client-go's.
struct LeaseOptions {
  Key lease;             // namespace and name
  std::string identity;  // of this candidate, unique among them (a pod's name and a random part)
  std::chrono::milliseconds lease_duration{15'000};
  std::chrono::milliseconds renew_deadline{10'000};  // shorter than lease_duration
  std::chrono::milliseconds retry_period{2'000};     // shorter than renew_deadline
  // Whether Stop releases the lease, so that the next candidate need not wait for it to expire.
  bool release_on_stop = true;
};

struct LeaseCallbacks {
  std::function<void()> acquired;
  // The lease could not be renewed within renew_deadline (then called before another candidate can
  // hold it), or another holds it. The callee must prevent every further write, also by a pending
  // request; in practice the process exits. Not called by Stop.
  std::function<void(const Error& why)> lost;
  // The present holder, on every change.
  std::function<void(const std::string& identity)> leader_changed = [](const std::string&) {};
};

class Lease {
 public:
  // Call Check first: kInvalid unless retry_period < renew_deadline < lease_duration and identity
  // is set. The client outlives the lease.
  static Status Check(const LeaseOptions& options);
  Lease(Client& client, LeaseOptions options, LeaseCallbacks callbacks,
        const Clock& clock = RealClock());
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Competes for the lease in a thread of its own, which makes the callbacks. It ends with `lost`:
  // a lease is acquired once at most. May be called once.
  void Start();
  // Ends it; with release_on_stop a held lease is released first.
  void Stop();
  [[nodiscard]] bool held() const { return held_; }

 private:
  struct Observed;
  void Run(const std::stop_token& stop);
  Status Attempt(Client& client, Observed& observed);
  void Release(const Observed& observed);

  Client& client_;
  const LeaseOptions options_;
  const LeaseCallbacks callbacks_;
  const Clock& clock_;
  std::atomic<bool> held_ = false;
  std::jthread thread_;
};

}  // namespace gantry::kube
