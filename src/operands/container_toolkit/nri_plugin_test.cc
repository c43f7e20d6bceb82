// SPDX-License-Identifier: Apache-2.0
// Who gets which devices by a pod's annotations; and the plugin at the socket of a runtime that
// comes late and restarts.
#include "operands/container_toolkit/nri_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "host/signals.h"
#include "operands/container_toolkit/nri_devices.h"

namespace gantry::container_toolkit {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

container::NriContainer Container(std::map<std::string, std::string> annotations) {
  return {"main", "pod", "team", std::move(annotations)};
}

TEST(NriDevices, TheMostSpecificAnnotationCounts) {
  const std::map<std::string, std::string> all = {
      {"nvidia.cdi.k8s.io", "nvidia.com/gpu=bare"},
      {"nvidia.cdi.k8s.io/pod", "nvidia.com/gpu=pod"},
      {"nvidia.cdi.k8s.io/container.main", "nvidia.com/gpu=0, nvidia.com/gpu=1,"},
      {"nvidia.cdi.k8s.io/container.other", "nvidia.com/gpu=7"}};
  EXPECT_THAT(DevicesOf(Container(all), {}).devices,
              ElementsAre("nvidia.com/gpu=0", "nvidia.com/gpu=1"));
  auto container = Container(all);
  container.name = "third";
  EXPECT_THAT(DevicesOf(container, {}).devices, ElementsAre("nvidia.com/gpu=pod"));
  container.pod_annotations.erase("nvidia.cdi.k8s.io/pod");
  EXPECT_THAT(DevicesOf(container, {}).devices, ElementsAre("nvidia.com/gpu=bare"));
  EXPECT_THAT(DevicesOf(Container({{"cdi.k8s.io/x", "nvidia.com/gpu=0"}}), {}).devices, IsEmpty());
}

TEST(NriDevices, ManagementDevicesAreForChosenNamespaces) {
  const auto container = Container(
      {{"nvidia.cdi.k8s.io/container.main", "management.nvidia.com/gpu=all,nvidia.com/gpu=0"}});
  const NriDecision stranger = DevicesOf(container, {"gpu-operator", ""});
  EXPECT_THAT(stranger.devices, ElementsAre("nvidia.com/gpu=0"));
  EXPECT_THAT(stranger.refused, ElementsAre("management.nvidia.com/gpu=all"));
  EXPECT_THAT(DevicesOf(container, {"gpu-operator", "team"}).devices,
              ElementsAre("management.nvidia.com/gpu=all", "nvidia.com/gpu=0"));
}

// The socket of a runtime's NRI.
class Runtime {
 public:
  explicit Runtime(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    ::unlink(path.c_str());
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(fd_.get(), 1), 0);
  }

  // The first bytes of the plugin that connects; empty after ten seconds.
  std::string Hello() {
    pollfd source{fd_.get(), POLLIN, 0};
    if (::poll(&source, 1, 10000) != 1) {
      return "";
    }
    plugin_ = Fd(::accept(fd_.get(), nullptr, nullptr));
    return Read();
  }

  std::string Ask(const std::string& bytes) {
    EXPECT_EQ(::write(plugin_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    return Read();
  }

 private:
  std::string Read() {
    char buffer[4096];
    pollfd source{plugin_.get(), POLLIN, 0};
    const ssize_t count =
        ::poll(&source, 1, 10000) == 1 ? ::read(plugin_.get(), buffer, sizeof(buffer)) : 0;
    return {buffer, count < 0 ? 0 : static_cast<size_t>(count)};
  }

  Fd fd_;
  Fd plugin_;
};

class NriPluginTest : public testing::Test {
 protected:
  void SetUp() override {
    flags_.host_root = temporary_.path();
    flags_.nri_plugin = true;
    flags_.nri_index = 7;
    flags_.nri_namespace = "gpu-operator";
    flags_.nri_socket = "/run/nri/nri.sock";
  }

  std::string Socket() const {
    fs::create_directories(flags_.host_root + "/run/nri");
    return flags_.host_root + flags_.nri_socket;
  }

  const TempFolder temporary_;
  Flags flags_;
};

TEST_F(NriPluginTest, FindsTheRuntimeThatComesLateAndTheOneAfterIt) {
  const host::Signals signals;
  const NriPlugin plugin(flags_);
  for (int turn = 0; turn < 2; ++turn) {
    Runtime runtime(Socket());
    const std::string hello = runtime.Hello();
    EXPECT_THAT(hello, HasSubstr("RegisterPlugin"));
    EXPECT_THAT(hello, HasSubstr("nvidia-container-toolkit\x12\x02"
                                 "07"));
    // Configure: service "s", method, no payload; stream id 1.
    const std::string call =
        "\x0a\x01s\x12\x09"
        "Configure";
    const auto size = static_cast<char>(call.size());
    std::string bytes = {0, 0, 0, 1, 0, 0, 0, static_cast<char>(size + 10)};  // the frame
    bytes += {0, 0, 0, size, 0, 0, 0, 1, 1, 0};                               // the message
    bytes += call;
    EXPECT_THAT(runtime.Ask(bytes), HasSubstr(std::string("\x10\x08", 2)));
  }
}

TEST_F(NriPluginTest, EndsWithoutARuntimeAndWithASilentOne) {
  {
    const NriPlugin plugin(flags_);
  }
  Runtime runtime(Socket());
  const NriPlugin plugin(flags_);
  EXPECT_NE(runtime.Hello(), "");
}

}  // namespace
}  // namespace gantry::container_toolkit
