// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thread>

#include "host/watch.h"
#include "operands/container_toolkit/flags.h"

namespace gantry::container_toolkit {

// Keeps the toolkit registered as an NRI plugin of the host's container runtime while it lives, in
// a thread of its own: a runtime waits two seconds for a response and drops a plugin that is late.
// Make it after host::Signals.
class NriPlugin {
 public:
  explicit NriPlugin(const Flags& flags);
  NriPlugin(const NriPlugin&) = delete;
  NriPlugin& operator=(const NriPlugin&) = delete;
  ~NriPlugin();

 private:
  host::StopEvent stop_;
  std::thread thread_;
};

}  // namespace gantry::container_toolkit
