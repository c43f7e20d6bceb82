// SPDX-License-Identifier: Apache-2.0
// Did a PCI device come or go? sysfs is silent; the kernel tells by netlink, one message of
// NUL-separated NAME=value texts a device.
#include "operands/node_features/uevents.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace gantry::node_features {

Result<Uevents> Uevents::Open() {
  Fd descriptor(
      socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!descriptor.valid()) {
    return FailErrno("open uevent socket", errno);
  }
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1;  // the kernel's own; udev's copies are group 2
  if (bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return FailErrno("bind uevent socket", errno);
  }
  return Uevents(std::move(descriptor));
}

bool Uevents::TakePci() {
  static constexpr std::string_view kPci("SUBSYSTEM=pci\0", 14);
  bool pci = false;
  std::array<char, 8192> message{};
  while (true) {
    const ssize_t size = recv(socket_.get(), message.data(), message.size(), 0);
    if (size > 0) {
      const std::string_view text(message.data(), static_cast<size_t>(size));
      pci = pci || text.find(kPci) != std::string_view::npos;
    } else if (size < 0 && errno == ENOBUFS) {
      pci = true;
    } else if (size == 0 || errno != EINTR) {
      return pci;
    }
  }
}

}  // namespace gantry::node_features
