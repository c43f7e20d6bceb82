// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/paths.h"

// Signals as descriptors (signalfd(2)), so that a poll can wait for them too.
namespace gantry::host {

// While it lives, SIGTERM, SIGINT, SIGQUIT and SIGHUP do not end the process: they are read here.
// Make it before the first thread; threads and children inherit the blocked signals (a child that
// is another program must unblock them).
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  // Readable, and stays so, once SIGTERM, SIGINT or SIGQUIT came.
  [[nodiscard]] int stop_fd() const { return stop_.get(); }
  // Readable when SIGHUP came, until TakeReload.
  [[nodiscard]] int reload_fd() const { return reload_.get(); }

  [[nodiscard]] bool stop_requested() const;
  // True if SIGHUP came since the last call.
  bool TakeReload();

 private:
  Fd stop_;
  Fd reload_;
};

// Call it at the start of main. The kernel drops a signal that process 1 of a container neither
// blocks nor handles (pid_namespaces(7)): a SIGTERM before Signals is made would be lost, and the
// container killed only after its grace period. Does nothing in other processes.
void KeepSignalsOfFirstProcess();

}  // namespace gantry::host
