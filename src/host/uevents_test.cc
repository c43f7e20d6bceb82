// SPDX-License-Identifier: Apache-2.0
// Announcements of devices, made here in a network namespace of this test's own: any user who may
// administer one may send there what the kernel would.
#include "host/uevents.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>

#include "base/clock.h"
#include "host/watch.h"

namespace gantry::host {
namespace {

class UeventsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (unshare(CLONE_NEWNET) != 0) {
      GTEST_SKIP() << "needs the right to make a network namespace";
    }
    Result<Uevents> opened = Uevents::OpenSocket();
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    uevents_ = *std::move(opened);
  }

  void Announce(const std::string& action, const std::string& path, const std::string& subsystem) {
    const std::string end(1, '\0');
    const std::string text = action + "@" + path + end + "ACTION=" + action + end +
                             "DEVPATH=" + path + end + "SUBSYSTEM=" + subsystem + end;
    const Fd sender(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
    sockaddr_nl group{};
    group.nl_family = AF_NETLINK;
    group.nl_groups = 1;
    ASSERT_EQ(sendto(sender.get(), text.data(), text.size(), 0,
                     reinterpret_cast<const sockaddr*>(&group), sizeof(group)),
              static_cast<ssize_t>(text.size()));
  }

  bool Readable() {
    const std::array<int, 1> descriptors = {uevents_->fd()};
    return host::WaitReadable(descriptors, RealClock().Now())[0];
  }

  std::optional<Uevents> uevents_;
};

TEST_F(UeventsTest, APciDeviceIsTold) {
  for (const char* action : {"add", "bind", "remove", "offline"}) {
    Announce(action, "/devices/pci0000:00/0000:00:1e.0", "pci");
    EXPECT_TRUE(Readable()) << action;
    EXPECT_TRUE(uevents_->TakeDevices()) << action;
    EXPECT_FALSE(Readable()) << action;
  }
}

TEST_F(UeventsTest, AModuleAndAUsbDeviceAreTold) {
  Announce("add", "/module/nvidia_peermem", "module");
  EXPECT_TRUE(uevents_->TakeDevices());
  Announce("remove", "/devices/pci0000:00/usb1/1-1", "usb");
  EXPECT_TRUE(uevents_->TakeDevices());
}

TEST_F(UeventsTest, VirtualDevicesWakeNobody) {
  for (const char* action : {"add", "move", "remove", "offline"}) {
    Announce(action, "/devices/virtual/net/veth0", "net");
    EXPECT_FALSE(Readable()) << action;
  }
}

TEST_F(UeventsTest, OtherDevicesAreNoPciDevices) {
  Announce("add", "/devices/platform/serial8250/tty/ttyS0", "tty");
  EXPECT_TRUE(Readable());
  EXPECT_FALSE(uevents_->TakeDevices());
  Announce("add", "/devices/platform/soc/40000000.pcie/pci0000:00/0000:00:01.0", "pci");
  EXPECT_TRUE(uevents_->TakeDevices());
}

}  // namespace
}  // namespace gantry::host
