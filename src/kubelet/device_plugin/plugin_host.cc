// SPDX-License-Identifier: Apache-2.0
// How does a plugin accept the kubelet's connections, notice a new kubelet.sock, and register? One
// thread waits for connections, changes in the folder (inotify) and its callers; registration.h
// decides the next step. It makes no blocking gRPC call: the kubelet dials back before it answers
// Register.
#include "kubelet/device_plugin/plugin_host.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "kubelet/device_plugin/device_list.h"
#include "kubelet/device_plugin/plugin_service.h"
#include "kubelet/device_plugin/registration.h"
#include "kubelet/plugin_socket.h"

namespace gantry::kubelet {
namespace {

using What = PluginEvent::What;
using std::chrono::milliseconds;

// How long a removed resource may take to tell the kubelet.
constexpr milliseconds kRetireTimeout{5000};
constexpr milliseconds kLeaveTimeout{2000};
// Appended to the name of the plugin's socket: the socket by which it leaves.
constexpr char kLeaving[] = ".leaving";

// Of a resource that is not offered any more, until its kubelet knows it.
class RetiredAllocator : public Allocator {
 public:
  explicit RetiredAllocator(std::string resource) : resource_(std::move(resource)) {}
  [[nodiscard]] Result<Allocation> Allocate(
      const std::vector<std::string>& /*ids*/) const override {
    return Refused();
  }
  [[nodiscard]] Result<std::vector<std::string>> Prefer(
      const PreferredRequest& /*request*/) const override {
    return Refused();
  }

 private:
  [[nodiscard]] std::unexpected<Error> Refused() const {
    return Fail(ErrorKind::kNotFound, format("{}: not offered any more", resource_));
  }
  const std::string resource_;
};

}  // namespace

class PluginHost::Impl {
 public:
  Impl(Options options, int inotify, int wake)
      : options_(std::move(options)), inotify_(inotify), wake_(wake) {
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    Post([this] { stopping_ = true; });
    thread_.join();
    close(inotify_);
    close(wake_);
  }

  void Serve(std::vector<PluginResource> resources, std::function<void()> done) {
    Post([this, wanted = std::move(resources), done = std::move(done)]() mutable {
      Reconcile(std::move(wanted));
      done();
    });
  }

 private:
  struct Served {
    PluginResource resource;
    std::unique_ptr<PluginService> service;
    std::optional<PluginSocket> socket;
    RegistrationState state;
    std::string listen_error;  // as last reported
    bool superseded = false;
    std::optional<SteadyTime> retire_by;
  };

  void Post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(work));
    }
    const uint64_t one = 1;
    CHECK(write(wake_, &one, sizeof(one)) == sizeof(one));
  }

  static SteadyTime Now() { return RealClock().Now(); }

  void Tell(What what, const std::string& resource, Error error = {}) const {
    if (options_.on_event) {
      options_.on_event({.what = what, .resource = resource, .error = std::move(error)});
    }
  }

  Served* Find(const std::string& name) {
    for (auto& served : served_) {
      if (served.resource.name == name && !served.retire_by) {
        return &served;
      }
    }
    return nullptr;
  }

  void Reconcile(std::vector<PluginResource> wanted) {
    for (auto& served : served_) {
      const bool stays = std::ranges::any_of(
          wanted, [&served](const auto& one) { return one.name == served.resource.name; });
      if (!stays && !served.retire_by) {
        served.retire_by = Now() + kRetireTimeout;
        served.service->SetAllocator(std::make_shared<RetiredAllocator>(served.resource.name));
        served.service->Retire();
      }
    }
    for (auto& resource : wanted) {
      if (auto* served = Find(resource.name)) {
        // First the allocators, then the devices: every offered device has an allocator.
        served->service->SetAllocator(resource.allocator);
        served->service->SetDevices(resource.devices);
        served->resource = std::move(resource);
      } else {
        Add(std::move(resource));
      }
    }
  }

  void Add(PluginResource resource) {
    // Looked up by name in the callbacks: a retired resource must not be found.
    const std::string name = resource.name;
    PluginService::Callbacks callbacks{
        .on_registered =
            [this, name](Status status) {
              Post([this, name, status = std::move(status)] { Answered(name, status); });
            },
        .on_stream_ended =
            [this, name](int open) { Post([this, name, open] { StreamEnded(name, open); }); }};
    Served served;
    served.service =
        std::make_unique<PluginService>(resource.devices, resource.allocator, std::move(callbacks));
    served.resource = std::move(resource);
    served_.push_back(std::move(served));
  }

  void Answered(const std::string& name, const Status& status) {
    auto* served = Find(name);
    if (served == nullptr) {
      return;
    }
    OnAnswer(served->state, status.has_value(), Now());
    if (stopping_) {
      return;
    }
    if (status) {
      Tell(What::kRegistered, name);
    } else {
      Tell(What::kRegisterFailed, name, status.error());
    }
  }

  void StreamEnded(const std::string& name, int open) {
    for (auto& served : served_) {
      if (served.resource.name == name && served.retire_by && open == 0) {
        served.retire_by = Now();
        return;
      }
    }
    auto* served = Find(name);
    if (served != nullptr && open == 0 && served->state.registered != 0) {
      const auto now = Now();
      OnDropped(served->state, now);
      Tell(What::kDropped, name, {ErrorKind::kUnavailable, WhyDropped(*served, now)});
    }
  }

  // A server only sees that its client ended the stream; the kubelet's log has the reason. One
  // reason can be checked here: the length of the list.
  static std::string WhyDropped(const Served& served, SteadyTime now) {
    const auto span = [](SteadyTime from, SteadyTime to) {
      return std::chrono::duration_cast<milliseconds>(to - from).count();
    };
    const size_t bytes = BytesInDeviceList(served.resource.devices);
    return format(
        "the kubelet ended the stream of {} devices (CANCELLED) {} ms after the registration{}; "
        "its "
        "own log says why; registering again in {} ms",
        served.resource.devices.size(), span(served.state.registered_at, now),
        bytes > kLongestDeviceList ? format(": the list may have {} bytes, the kubelet takes {}",
                                            bytes, kLongestDeviceList)
                                   : "",
        span(now, served.state.not_before));
  }

  // Reads the folder, and makes the next step of each resource. Returns when to check again.
  std::optional<SteadyTime> Step() {
    std::optional<SteadyTime> look_again;
    const auto sooner = [&look_again](std::optional<SteadyTime> at) {
      if (at && (!look_again || *at < *look_again)) {
        look_again = at;
      }
    };
    const uint64_t kubelet = options_.kubelet_socket.empty() ? 0 : SocketIdentity(KubeletPath());
    const bool alone = !served_.empty() && !options_.kubelet_socket.empty() && kubelet == 0;
    if (!std::exchange(alone_, alone) && alone) {
      Tell(What::kNoKubelet, "");
    }
    const auto now = Now();
    std::erase_if(served_, [now](const Served& served) {
      return served.retire_by && *served.retire_by <= now;
    });
    for (auto& served : served_) {
      sooner(served.retire_by ? served.retire_by : StepOne(served, kubelet));
    }
    return look_again;
  }

  std::optional<SteadyTime> StepOne(Served& served, uint64_t kubelet) {
    for (;;) {
      const Sight sight{.kubelet = kubelet,
                        .own = served.socket ? served.socket->Look() : OwnSocket::kAbsent};
      const bool superseded = served.socket && sight.own == OwnSocket::kForeign;
      if (superseded && !served.superseded) {
        Tell(What::kSuperseded, served.resource.name);
      }
      served.superseded = superseded;
      const auto step = Decide(served.state, sight, Now());
      switch (step.what) {
        case RegistrationStep::What::kNothing:
          return step.look_again;
        case RegistrationStep::What::kListen: {
          auto socket = PluginSocket::Listen(options_.folder, served.resource.endpoint);
          if (!socket) {
            OnListenFailed(served.state, Now());
            if (std::exchange(served.listen_error, socket.error().message) !=
                socket.error().message) {
              Tell(What::kFailed, served.resource.name, socket.error());
            }
            break;
          }
          served.listen_error.clear();
          served.socket = *std::move(socket);
          OnListening(served.state);
          break;
        }
        case RegistrationStep::What::kRegister:
          Register(served, sight);
          break;
        case RegistrationStep::What::kGiveUp:
          // The response comes as a message.
          served.service->GiveUpRegister();
          return std::nullopt;
      }
    }
  }

  void Register(Served& served, const Sight& sight) {
    OnRegistering(served.state, sight, Now());
    auto connection = ConnectTo(KubeletPath());
    if (!connection) {
      OnAnswer(served.state, false, Now());
      Tell(What::kRegisterFailed, served.resource.name, connection.error());
      return;
    }
    served.service->Register(*connection, served.resource.name, served.resource.endpoint);
  }

  [[nodiscard]] std::string KubeletPath() const {
    return options_.folder + "/" + options_.kubelet_socket;
  }

  void Run() {
    std::vector<pollfd> waits;
    while (!stopping_) {
      const auto look_again = Step();
      waits.assign({{.fd = wake_, .events = POLLIN, .revents = 0},
                    {.fd = inotify_, .events = POLLIN, .revents = 0}});
      for (const auto& served : served_) {
        waits.push_back(
            {.fd = served.socket ? served.socket->fd() : -1, .events = POLLIN, .revents = 0});
      }
      if (poll(waits.data(), waits.size(), TimeoutUntil(look_again)) < 0) {
        CHECK(errno == EINTR);
        continue;
      }
      size_t at = 2;
      for (auto& served : served_) {
        if (waits[at++].revents != 0 && served.socket) {
          AcceptAll(*served.socket, *served.service);
        }
      }
      if (waits[1].revents != 0) {
        DrainFolder();
      }
      if (waits[0].revents != 0) {
        RunPosted();
      }
    }
    for (auto& served : served_) {
      Leave(served);
    }
    served_.clear();
  }

  // When a stream ends, the kubelet drops the plugin that registered last, by now the successor. A
  // Register call that fails at its first question leaves none to drop, and keeps the successor's
  // stream. The successor registers again when this socket is removed, so that the kubelet will
  // notice its end.
  void Leave(Served& served) {
    if (!served.superseded || options_.kubelet_socket.empty() || served.state.in_flight) {
      return;
    }
    const auto endpoint = served.resource.endpoint + kLeaving;
    const auto socket = PluginSocket::Listen(options_.folder, endpoint);
    auto connection = ConnectTo(KubeletPath());
    if (!socket || !connection) {
      return;
    }
    served.service->Leave();
    served.state.in_flight = true;
    served.service->Register(*connection, served.resource.name, endpoint);
    const auto deadline = Now() + kLeaveTimeout;
    while (served.state.in_flight && Now() < deadline) {
      std::array waits = {pollfd{.fd = wake_, .events = POLLIN, .revents = 0},
                          pollfd{.fd = socket->fd(), .events = POLLIN, .revents = 0}};
      if (poll(waits.data(), waits.size(), TimeoutUntil(deadline)) < 0) {
        CHECK(errno == EINTR);
        continue;
      }
      AcceptAll(*socket, *served.service);
      if (waits[0].revents != 0) {
        RunPosted();
      }
    }
    served.service.reset();
  }

  static int TimeoutUntil(std::optional<SteadyTime> at) {
    if (!at) {
      return -1;
    }
    const auto left = std::chrono::ceil<milliseconds>(*at - Now());
    return static_cast<int>(std::max<int64_t>(left.count(), 0));
  }

  static void AcceptAll(const PluginSocket& socket, PluginService& service) {
    for (int fd = socket.Accept(); fd >= 0; fd = socket.Accept()) {
      service.Adopt(fd);
    }
  }

  void DrainFolder() {
    alignas(inotify_event) std::array<char, 4096> buffer;
    for (;;) {
      const auto got = read(inotify_, buffer.data(), buffer.size());
      if (got <= 0) {
        return;
      }
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        if ((event->mask & IN_DELETE) != 0 && event->len > 0) {
          OnRemoved(event->name);
        }
        if ((event->mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
          Tell(What::kFailed, "",
               {ErrorKind::kNotFound, "watch " + options_.folder + ": the folder was removed"});
        }
      }
    }
  }

  void OnRemoved(const std::string& name) {
    for (auto& served : served_) {
      const bool known = served.state.registered != 0 || served.state.in_flight;
      if (name == served.resource.endpoint + kLeaving && known) {
        OnPredecessorLeft(served.state, Now());
      }
    }
  }

  void RunPosted() {
    uint64_t count = 0;
    CHECK(read(wake_, &count, sizeof(count)) == sizeof(count));
    std::vector<std::function<void()>> work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(posted_);
    }
    for (auto& one : work) {
      one();
    }
  }

  const Options options_;
  const int inotify_;
  const int wake_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  // Used by the thread alone.
  bool stopping_ = false;
  bool alone_ = false;  // there is no kubelet, and that was reported
  std::list<Served> served_;
  std::thread thread_;
};

Result<std::unique_ptr<PluginHost>> PluginHost::Start(Options options) {
  const int inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (inotify < 0) {
    return FailErrno("start inotify", errno);
  }
  if (inotify_add_watch(inotify, options.folder.c_str(),
                        IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR) < 0) {
    const int error = errno;
    close(inotify);
    return FailErrno("watch " + options.folder, error);
  }
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) {
    const int error = errno;
    close(inotify);
    return FailErrno("make an eventfd", error);
  }
  return std::unique_ptr<PluginHost>(
      new PluginHost(std::make_unique<Impl>(std::move(options), inotify, wake)));
}

PluginHost::PluginHost(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PluginHost::~PluginHost() = default;
void PluginHost::Serve(std::vector<PluginResource> resources, std::function<void()> done) {
  impl_->Serve(std::move(resources), std::move(done));
}

}  // namespace gantry::kubelet
