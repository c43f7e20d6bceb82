// SPDX-License-Identifier: Apache-2.0
// Was a device or a module added or removed, or bound to a driver? sysfs has no events; the kernel
// sends them by netlink, one message of NUL-separated NAME=value strings a device.
#include "host/uevents.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

namespace gantry::host {
namespace {

constexpr uint32_t kAllUsers = 0xFFFFFFFF;

// A filter in the kernel drops virtual devices, "<action>@/devices/virtual/...", so that the
// network devices of starting and ending containers do not wake this process. The actions have
// three, four, six or seven letters; the path's second part begins ten bytes after the '@'.
Status DropVirtualDevices(int socket) {
  constexpr uint32_t kAll = 0xFFFFFFFF;
  constexpr uint32_t kVirt = 0x76697274;  // "virt", as the filter loads it
  const auto byte = [](uint32_t at) { return sock_filter{BPF_LD | BPF_B | BPF_ABS, 0, 0, at}; };
  const auto word = [](uint32_t at) { return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, at}; };
  const auto is = [](uint32_t value, uint8_t yes, uint8_t no) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, yes, no, value};
  };
  std::array<sock_filter, 18> program = {
      byte(3),
      is('@', 0, 2),
      word(3 + 10),
      is(kVirt, 13, 12),  //
      byte(4),
      is('@', 0, 2),
      word(4 + 10),
      is(kVirt, 9, 8),  //
      byte(6),
      is('@', 0, 2),
      word(6 + 10),
      is(kVirt, 5, 4),  //
      byte(7),
      is('@', 0, 2),
      word(7 + 10),
      is(kVirt, 1, 0),  //
      sock_filter{BPF_RET | BPF_K, 0, 0, kAll},
      sock_filter{BPF_RET | BPF_K, 0, 0, 0},
  };
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) != 0) {
    return FailErrno("filter uevents", errno);
  }
  return {};
}

// The kernel sends them only to network namespaces of the initial user namespace, the one that maps
// all users to themselves.
bool HearsTheKernel() {
  std::ifstream map("/proc/self/uid_map");
  uint32_t inside = 1;
  uint32_t outside = 1;
  uint32_t count = 0;
  return map >> inside >> outside >> count && inside == 0 && outside == 0 && count == kAllUsers;
}

}  // namespace

Result<Uevents> Uevents::Open() {
  if (!HearsTheKernel()) {
    return Fail(ErrorKind::kUnsupported, "open uevent socket: not in the host's user namespace");
  }
  return OpenSocket();
}

Result<Uevents> Uevents::OpenSocket() {
  Fd descriptor(
      socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!descriptor.valid()) {
    return FailErrno("open uevent socket", errno);
  }
  TRY(DropVirtualDevices(descriptor.get()));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1;  // the kernel's own; udev's copies are group 2
  if (bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return FailErrno("bind uevent socket", errno);
  }
  return Uevents(std::move(descriptor));
}

bool Uevents::TakeDevices() {
  static constexpr std::string_view kSubsystems[] = {{"SUBSYSTEM=pci\0", 14},
                                                     {"SUBSYSTEM=usb\0", 14},
                                                     {"SUBSYSTEM=mdev\0", 15},
                                                     {"SUBSYSTEM=module\0", 17}};
  bool relevant = false;
  std::array<char, 8192> message{};
  while (true) {
    const ssize_t size = recv(socket_.get(), message.data(), message.size(), 0);
    if (size > 0) {
      const std::string_view text(message.data(), static_cast<size_t>(size));
      relevant |= std::ranges::any_of(kSubsystems, [&](std::string_view subsystem) {
        return text.find(subsystem) != std::string_view::npos;
      });
    } else if (size < 0 && errno == ENOBUFS) {
      relevant = true;
    } else if (size == 0 || errno != EINTR) {
      return relevant;
    }
  }
}

}  // namespace gantry::host
