// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/paths.h"

namespace gantry::node_features {

// The kernel's announcements of devices and modules that come and go (netlink(7),
// NETLINK_KOBJECT_UEVENT). Needs no privilege; the kernel sends them into every network namespace
// of the host's user namespace.
class Uevents {
 public:
  // kUnsupported or kDenied where the kernel or a sandbox gives no such socket, or tells nothing to
  // it.
  static Result<Uevents> Open();
  // The same without asking whether the kernel will tell anything.
  static Result<Uevents> OpenSocket();

  [[nodiscard]] int fd() const { return socket_.get(); }
  // Reads what is there without blocking; true if a PCI or USB device or a kernel module was
  // among it, or if messages were lost.
  bool TakeDevices();

 private:
  explicit Uevents(Fd socket) : socket_(std::move(socket)) {}
  Fd socket_;
};

}  // namespace gantry::node_features
