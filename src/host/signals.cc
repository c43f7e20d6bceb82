// SPDX-License-Identifier: Apache-2.0
// Was this process asked to end or to reload? The kubelet ends a container by SIGTERM; SIGHUP asks
// an operand to reload its configuration. A blocked signal stays pending, so a signalfd that is
// never read stays readable: that is the stop event.
#include "host/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"

namespace gantry::host {
namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGQUIT);
  return set;
}

sigset_t ReloadSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  return set;
}

void Block(const sigset_t& signals) { pthread_sigmask(SIG_BLOCK, &signals, nullptr); }

}  // namespace

void KeepSignalsOfFirstProcess() {
  if (getpid() == 1) {
    Block(StopSignals());
    Block(ReloadSignals());
  }
}

Signals::Signals() {
  const sigset_t stop = StopSignals();
  const sigset_t reload = ReloadSignals();
  Block(stop);
  Block(reload);
  stop_ = Fd(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
  reload_ = Fd(signalfd(-1, &reload, SFD_CLOEXEC | SFD_NONBLOCK));
  CHECK(stop_.valid() && reload_.valid());
}

Signals::~Signals() {
  const sigset_t reload = ReloadSignals();
  TakeReload();
  // The stop signal was received; unblocking it would kill the process during its shutdown.
  signalfd_siginfo info{};
  while (read(stop_.get(), &info, sizeof(info)) > 0) {
  }
  const sigset_t stop = StopSignals();
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &reload, nullptr);
}

bool Signals::stop_requested() const {
  pollfd polled = {.fd = stop_.get(), .events = POLLIN, .revents = 0};
  return poll(&polled, 1, 0) > 0;
}

bool Signals::TakeReload() {
  bool came = false;
  signalfd_siginfo info{};
  while (read(reload_.get(), &info, sizeof(info)) > 0) {
    came = true;
  }
  return came;
}

}  // namespace gantry::host
