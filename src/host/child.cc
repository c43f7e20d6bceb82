// SPDX-License-Identifier: Apache-2.0
// How does a process wait for a child that may never end? It polls the child's pidfd with a limit;
// a child that hangs in the kernel is left there and reaped later.
#include "host/child.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <vector>

#include "base/paths.h"
#include "host/watch.h"

namespace gantry::host {
namespace {

constexpr std::chrono::milliseconds kLookAgain(20);

// Children that outlived their Child, of all threads.
class GivenUp {
 public:
  void Add(pid_t pid) {
    const std::lock_guard lock(mutex_);
    pids_.push_back(pid);
  }

  void Reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> pids_;
};

GivenUp& OfAllThreads() {
  static GivenUp given_up;
  return given_up;
}

}  // namespace

Child::Child(pid_t pid) : pid_(pid) { OfAllThreads().Reap(); }

Child::~Child() {
  if (!AwaitEnd(RealClock().Now())) {
    OfAllThreads().Add(pid_);
  }
}

std::optional<int> Child::AwaitEnd(SteadyTime deadline, int stop_fd) {
  // Kernels before 5.3 have none.
  Fd handle(status_ ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  while (!status_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != 0) {
      status_ = status;
      break;
    }
    const SteadyTime now = RealClock().Now();
    if (now >= deadline) {
      break;
    }
    const SteadyTime again = handle.valid() ? deadline : std::min(deadline, now + kLookAgain);
    const std::vector<bool> ready = WaitReadable(std::array{handle.get(), stop_fd}, again);
    if (ready[1]) {
      break;
    }
    if (ready[0]) {
      handle = Fd();  // it is reaped next, or once a tracer has seen its end
    }
  }
  return status_;
}

}  // namespace gantry::host
