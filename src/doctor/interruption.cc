// SPDX-License-Identifier: Apache-2.0
// Was this command interrupted? A thread waits for the signals, so that a long call to the API
// server ends at once, and the command can remove its files.
#include "doctor/interruption.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>

#include "base/error.h"

namespace gantry::doctor {

Interruption::Interruption()
    : over_(eventfd(0, EFD_CLOEXEC)),
      thread_([this](const std::stop_token& over) { Wait(over); }) {}

void Interruption::Wait(const std::stop_token& over) {
  CHECK(over_.valid());
  const std::stop_callback wake(over, [this] { CHECK(eventfd_write(over_.get(), 1) == 0); });
  std::array<pollfd, 3> events = {{{signals_.stop_fd(), POLLIN, 0},
                                   {signals_.reload_fd(), POLLIN, 0},
                                   {over_.get(), POLLIN, 0}}};
  while (poll(events.data(), events.size(), -1) < 0) {
    CHECK(errno == EINTR);
  }
  if (events[0].revents != 0 || events[1].revents != 0) {
    asked_.request_stop();
  }
}

}  // namespace gantry::doctor
