// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/paths.h"

namespace gantry::host {

// The kernel's events for devices and modules: added, removed, bound, unbound (netlink(7),
// NETLINK_KOBJECT_UEVENT). Needs no privilege; the kernel sends them into every network namespace
// of the host's user namespace.
class Uevents {
 public:
  // kUnsupported or kDenied if the kernel or a sandbox allows no such socket, or sends nothing to
  // it.
  static Result<Uevents> Open();
  // The same without a check whether the kernel will send anything.
  static Result<Uevents> OpenSocket();

  [[nodiscard]] int fd() const { return socket_.get(); }
  // Reads pending messages without blocking; true if one is about a PCI, USB or mediated device or
  // a kernel module, or if messages were lost.
  bool TakeDevices();

 private:
  explicit Uevents(Fd socket) : socket_(std::move(socket)) {}
  Fd socket_;
};

}  // namespace gantry::host
