// SPDX-License-Identifier: Apache-2.0
// Who holds the GPUs now? The kubelet has no watch for it, so it is asked.
#include "operands/metrics_exporter/pods.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "gpu/pod_list.h"

namespace gantry::metrics_exporter {
namespace {

// As long as dcgm-exporter waits.
constexpr std::chrono::seconds kPatience(10);

}  // namespace

class PodLister::State {
 public:
  State(std::string socket, Tell tell) : socket_(std::move(socket)), tell_(std::move(tell)) {}

  void Ask() {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
    changed_.notify_all();
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closed_ || wanted_; });
      if (closed_) {
        return;
      }
      wanted_ = false;
      lock.unlock();
      auto pods = gpu::ListPods(socket_, kPatience);
      lock.lock();
      if (!closed_) {
        tell_(std::move(pods));
      }
    }
  }

 private:
  const std::string socket_;
  const Tell tell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool closed_ = false;
};

PodLister::PodLister(std::string socket, Tell tell)
    : state_(std::make_shared<State>(std::move(socket), std::move(tell))) {
  std::thread([state = state_] { state->Run(); }).detach();
}

PodLister::~PodLister() { state_->Close(); }

void PodLister::Ask() { state_->Ask(); }

}  // namespace gantry::metrics_exporter
