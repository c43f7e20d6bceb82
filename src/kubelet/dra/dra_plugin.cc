// SPDX-License-Identifier: Apache-2.0
// How does the kubelet find a driver, and keep it? By a socket in its registry, which it watches.
// The service's socket is made first, because the kubelet calls it at once.
#include "kubelet/dra/dra_plugin.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "kubelet/dra/call_server.h"
#include "kubelet/dra/dra_calls.h"
#include "kubelet/plugin_socket.h"

namespace gantry::kubelet::dra {
namespace {

using What = DraEvent::What;

constexpr char kServiceSocket[] = "dra.sock";

}  // namespace

class DraPlugin::Impl {
 public:
  Impl(Options options, Fd inotify, Fd wake)
      : options_(std::move(options)),
        inotify_(std::move(inotify)),
        wake_(std::move(wake)),
        server_([this](std::string_view method, const std::string& request) {
          return AnswerCall(calls_, method, request);
        }) {}

  ~Impl() {
    if (thread_.joinable()) {
      const uint64_t one = 1;
      CHECK(write(wake_.get(), &one, sizeof(one)) == sizeof(one));
      thread_.join();
    }
  }

  Status Start() {
    TRY(Serve(options_.folder, kServiceSocket));
    TRY(Serve(options_.registry, options_.driver + "-reg.sock"));
    thread_ = std::thread([this] { Run(); });
    return {};
  }

 private:
  struct Place {
    std::string folder;
    std::string name;
    PluginSocket socket;
    bool superseded = false;
  };

  Status Serve(const std::string& folder, const std::string& name) {
    if (inotify_add_watch(inotify_.get(), folder.c_str(),
                          IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR) < 0) {
      return FailErrno("watch " + folder, errno);
    }
    TRY_ASSIGN(auto socket, PluginSocket::Listen(folder, name));
    places_.push_back({.folder = folder, .name = name, .socket = std::move(socket)});
    return {};
  }

  void Tell(What what, Error error = {}) {
    options_.on_event({.what = what, .error = std::move(error)});
  }

  void Run() {
    for (;;) {
      std::array waits = {pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                          pollfd{.fd = inotify_.get(), .events = POLLIN, .revents = 0},
                          pollfd{.fd = places_[0].socket.fd(), .events = POLLIN, .revents = 0},
                          pollfd{.fd = places_[1].socket.fd(), .events = POLLIN, .revents = 0}};
      if (poll(waits.data(), waits.size(), -1) < 0) {
        CHECK(errno == EINTR);
        continue;
      }
      if (waits[0].revents != 0) {
        return;
      }
      for (const Place& place : places_) {
        for (int fd = place.socket.Accept(); fd >= 0; fd = place.socket.Accept()) {
          server_.Adopt(fd);
        }
      }
      if (waits[1].revents != 0 && !LookAtFolders()) {
        return;
      }
    }
  }

  // False: nothing can be served any more.
  bool LookAtFolders() {
    alignas(inotify_event) std::array<char, 4096> buffer;
    for (ssize_t got = 0; (got = read(inotify_.get(), buffer.data(), buffer.size())) > 0;) {
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        if ((event->mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
          Tell(What::kFailed, {ErrorKind::kNotFound, "a folder of the kubelet was removed"});
          return false;
        }
      }
    }
    for (Place& place : places_) {
      const OwnSocket own = place.socket.Look();
      if (!std::exchange(place.superseded, own == OwnSocket::kForeign) && place.superseded) {
        Tell(What::kSuperseded);
      }
      if (own == OwnSocket::kAbsent) {
        auto socket = PluginSocket::Listen(place.folder, place.name);
        if (!socket.has_value()) {
          Tell(What::kFailed, std::move(socket).error());
          return false;
        }
        place.socket = *std::move(socket);
      }
    }
    return true;
  }

  const Options options_;
  const Fd inotify_;
  const Fd wake_;
  const DraCalls calls_{.driver = options_.driver,
                        .endpoint = JoinPath(options_.folder, kServiceSocket),
                        .handler = options_.handler,
                        .on_registration = [this](Status status) {
                          if (status.has_value()) {
                            Tell(What::kRegistered);
                          } else {
                            Tell(What::kRegisterFailed, std::move(status).error());
                          }
                        }};
  std::vector<Place> places_;  // the service, then the registration
  CallServer server_;
  std::thread thread_;
};

Result<std::unique_ptr<DraPlugin>> DraPlugin::Start(Options options) {
  Fd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  Fd wake(eventfd(0, EFD_CLOEXEC));
  if (!inotify.valid() || !wake.valid()) {
    return FailErrno("start inotify", errno);
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(inotify), std::move(wake));
  TRY(impl->Start());
  return std::unique_ptr<DraPlugin>(new DraPlugin(std::move(impl)));
}

DraPlugin::DraPlugin(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DraPlugin::~DraPlugin() = default;

}  // namespace gantry::kubelet::dra
