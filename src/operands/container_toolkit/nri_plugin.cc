// SPDX-License-Identifier: Apache-2.0
// How does the NRI plugin stay connected? The connection is lost when the runtime restarts, and
// made again when the socket reappears (inotify). If the runtime refuses it, it is retried later.
#include "operands/container_toolkit/nri_plugin.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/nri.h"
#include "operands/container_toolkit/nri_devices.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr char kName[] = "nvidia-container-toolkit";
// As NVIDIA's plugin: after a failed connection to an existing socket.
constexpr seconds kTryAgain(2);

Result<Fd> Connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorKind::kInvalid, format("connect to {}: the path is too long", path));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return FailErrno("connect to " + path, errno);
  }
  return fd;
}

Status Send(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) {
      return FailErrno("talk to the runtime by NRI", errno);
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<size_t>(count));
  }
  return {};
}

class Connection {
 public:
  Connection(const Flags& flags, int stop_fd) : flags_(flags), stop_fd_(stop_fd) {}

  // Until the runtime ends the connection or `stop_fd` is readable.
  Status Serve(const std::string& path) const {
    TRY_ASSIGN(const Fd fd, Connect(path));
    container::NriSession session(
        kName, format("{:02}", flags_.nri_index),
        [this](const container::NriContainer& container) { return Devices(container); });
    TRY(Send(fd.get(), session.Hello()));
    bool told = false;
    std::array<char, 16384> buffer{};
    while (true) {
      const std::array sources = {fd.get(), stop_fd_};
      if (host::WaitReadable(sources)[1]) {
        return {};
      }
      const ssize_t count = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count <= 0) {
        return Fail(ErrorKind::kUnavailable, "talk to the runtime by NRI: it hung up");
      }
      TRY_ASSIGN(const std::string answer,
                 session.Take({buffer.data(), static_cast<size_t>(count)}));
      TRY(Send(fd.get(), answer));
      if (session.configured() && !told) {
        log::Info("the container runtime has taken the NRI plugin {}", kName);
        told = true;
      }
    }
  }

 private:
  [[nodiscard]] std::vector<std::string> Devices(const container::NriContainer& container) const {
    const NriDecision decision = DevicesOf(container, ManagementNamespaces(flags_));
    for (const std::string& device : decision.refused) {
      log::Warning(
          "pod {}/{} asks for {}: its namespace is none of --nri-namespace and "
          "--nri-management-cdi-device-namespaces",
          container.pod_namespace, container.pod_name, device);
    }
    return decision.devices;
  }

  const Flags& flags_;
  const int stop_fd_;
};

// Logs a line once, until a different one.
class Teller {
 public:
  void Say(const std::string& line) {
    if (line != last_) {
      log::Info("{}", line);
      last_ = line;
    }
  }

 private:
  std::string last_;
};

void Run(const Flags& flags, int stop_fd) {
  const Connection connection(flags, stop_fd);
  Teller teller;
  auto watcher = host::Watcher::Create();
  if (!watcher) {
    teller.Say(watcher.error().message);
  }
  while (true) {
    const std::string path = ResolveInRoot(flags.host_root, flags.nri_socket)
                                 .value_or(JoinPath(flags.host_root, flags.nri_socket));
    if (watcher) {
      if (const Status added = watcher->Add(path, host::Watcher::For::kExistence); !added) {
        teller.Say(added.error().message);
      }
    }
    const Status served = connection.Serve(path);
    if (served) {
      return;
    }
    teller.Say(served.error().message);
    // Without a socket, wait until it is made.
    const bool absent = served.error().kind == ErrorKind::kNotFound && watcher.has_value();
    const auto again =
        absent ? std::nullopt : std::optional<SteadyTime>(steady_clock::now() + kTryAgain);
    const bool stopped =
        watcher ? watcher->Next(stop_fd, again).stopped
                : host::WaitReadable(std::array{stop_fd}, steady_clock::now() + kTryAgain)[0];
    if (stopped) {
      return;
    }
  }
}

}  // namespace

NriPlugin::NriPlugin(const Flags& flags)
    : thread_([flags, stop_fd = stop_.fd()] { Run(flags, stop_fd); }) {}

NriPlugin::~NriPlugin() {
  stop_.Stop();
  thread_.join();
}

}  // namespace gantry::container_toolkit
