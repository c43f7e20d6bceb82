// SPDX-License-Identifier: Apache-2.0
// Which GPUs does the node have, are they alive, and which events do their drivers report? From
// NVML.
//
// Threads are detached and share the state: a thread that never returns from the driver must not
// keep the process alive, and its late result needs valid memory. An abandoned worker notices by
// its number.
#include "gpu/monitor.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/paths.h"
#include "gpu/device_nodes.h"
#include "gpu/event_relay.h"
#include "gpu/gpu_look.h"
#include "gpu/open_nvml.h"
#include "nvml/nvml.h"

namespace gantry::gpu {
namespace {

// NVML wakes its waiter after that, even without an event.
constexpr std::chrono::milliseconds kEventWait{5000};
// The same once another program has wanted a GPU for itself: it may again, and waits for this.
constexpr std::chrono::milliseconds kShortEventWait{1000};
// After an error, before the next wait.
constexpr std::chrono::seconds kEventPause{1};

}  // namespace

class Monitor::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(Options options) : options_(std::move(options)) {}

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  uint64_t Look() {
    const std::lock_guard lock(mutex_);
    look_wanted_ = true;
    close_wanted_ = false;
    if (!looking_) {
      Wake();
    }
    return ++looks_;
  }

  void CloseDriver() {
    const std::lock_guard lock(mutex_);
    close_wanted_ = true;
    forgotten_ = false;
    event_wait_ = kShortEventWait;
    look_wanted_ = false;
    wanted_.clear();
    listener_++;
    Wake();
  }

  void Probe(std::vector<std::string> uuids) {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(uuids);
    Wake();
  }

  std::optional<SteadyTime> overdue_at() {
    const std::lock_guard lock(mutex_);
    return running_ ? std::optional(running_->overdue_at) : std::nullopt;
  }

  void CheckOverdue() {
    const std::lock_guard lock(mutex_);
    if (!running_ || RealClock().Now() < running_->overdue_at) {
      return;
    }
    if (running_->uuid.empty()) {
      options_.tell(GpusMissing{{ErrorKind::kTimeout, "look at the GPUs: NVML does not answer"}});
    } else {
      stuck_.insert(running_->uuid);
      options_.tell(Probed{{{running_->uuid, Fail(ErrorKind::kTimeout, "NVML does not answer")}}});
    }
    running_.reset();
    worker_++;
    has_worker_ = false;
  }

 private:
  struct Running {
    std::string uuid;  // empty: all GPUs are enumerated
    SteadyTime overdue_at;
  };

  // With the mutex held.
  void Wake() {
    if (!has_worker_) {
      has_worker_ = true;
      std::thread([state = shared_from_this(), id = worker_] { state->Work(id); }).detach();
    }
    changed_.notify_all();
  }

  // One enumeration at a time, also if its worker was abandoned: a driver that hangs gets no second
  // one. A request during one is repeated after it, because it may have come too late.
  bool LookIsDue() const { return look_wanted_ && !looking_; }

  bool ForgetIsDue() const { return close_wanted_ && !forgotten_; }

  // When neither a listener nor a hanging call uses the library any more.
  bool CloseIsDue() const {
    return close_wanted_ && forgotten_ && !looking_ &&
           (library_ == nullptr || library_.use_count() == 1);
  }

  void Work(int id) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] {
        return closed_ || id != worker_ || ForgetIsDue() || CloseIsDue() || LookIsDue() ||
               !wanted_.empty();
      });
      if (closed_ || id != worker_) {
        return;
      }
      if (ForgetIsDue()) {
        forgotten_ = true;
        options_.forget();
      } else if (CloseIsDue()) {
        close_wanted_ = false;
        library_.reset();
        options_.tell(DriverClosed{});
      } else if (LookIsDue()) {
        DoLook(id, lock);
      } else if (library_ == nullptr) {
        wanted_.clear();
      } else {
        DoProbe(id, lock, std::exchange(wanted_, {}));
      }
    }
  }

  void DoLook(int id, std::unique_lock<std::mutex>& lock) {
    look_wanted_ = false;
    looking_ = true;
    const uint64_t covered = looks_;
    running_ = {.uuid = "", .overdue_at = RealClock().Now() + kLookLimit};
    const auto nodes = GpuNodes("/dev");
    if (library_ != nullptr && HasNewNode(nodes, nodes_)) {
      CloseSession(lock);
    }
    auto library = library_;
    lock.unlock();
    Result<GpuSet> set;
    if (library == nullptr) {
      auto opened = OpenNvml({.driver_root = options_.driver_root,
                              .or_by_loader = true,
                              .sys = JoinPath(options_.host_root, "sys")});
      if (opened) {
        library = *std::move(opened);
      } else {
        set = std::unexpected(std::move(opened).error());
      }
    }
    if (library != nullptr) {
      set = LookAtGpus(*library, options_.host_root);
    }
    lock.lock();
    looking_ = false;
    if (id == worker_) {
      running_.reset();
    }
    if (look_wanted_ || close_wanted_) {
      Wake();
    }
    if (closed_) {
      return;
    }
    if (!set) {
      options_.tell(GpusMissing{std::move(set).error()});
      return;
    }
    if (library_ == nullptr) {
      nodes_ = nodes;
    }
    library_ = library;
    if (!close_wanted_) {
      Listen(*set);
    }
    options_.tell(GpusFound{.set = *std::move(set), .look = covered});
  }

  // A process has one NVML session. It ends when its last user has released the library, so it
  // stays open while a call hangs.
  void CloseSession(std::unique_lock<std::mutex>& lock) {
    listener_++;
    options_.forget();
    const auto unused = [this] { return closed_ || library_.use_count() == 1; };
    if (changed_.wait_for(lock, event_wait_ + kEventPause, unused) && !closed_) {
      library_.reset();
    }
  }

  void DoProbe(int id, std::unique_lock<std::mutex>& lock, const std::vector<std::string>& uuids) {
    const auto library = library_;
    Probed round;
    for (const auto& uuid : uuids) {
      if (close_wanted_) {
        break;
      }
      if (stuck_.contains(uuid)) {
        continue;
      }
      running_ = {.uuid = uuid, .overdue_at = RealClock().Now() + kProbeLimit};
      lock.unlock();
      auto answer = options_.ask ? options_.ask(library, uuid) : library->Alive(uuid);
      lock.lock();
      if (closed_) {
        return;
      }
      if (id != worker_) {
        stuck_.erase(uuid);
        options_.tell(Probed{{{uuid, std::move(answer)}}});
        return;
      }
      running_.reset();
      round.answers.push_back({uuid, std::move(answer)});
    }
    options_.tell(std::move(round));
  }

  // With the mutex held. An earlier listener ends after its wait.
  void Listen(const GpuSet& set) {
    std::vector<std::string> uuids;
    uuids.reserve(set.gpus.size());
    for (const auto& gpu : set.gpus) {
      uuids.push_back(gpu.uuid);
    }
    listener_++;
    std::thread([state = shared_from_this(), id = listener_, uuids = std::move(uuids)] {
      state->ListenTo(id, uuids);
      state->ListenerEnded();
    }).detach();
  }

  // It has released the library, for which a close may wait.
  void ListenerEnded() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  void ListenTo(int id, const std::vector<std::string>& uuids) {
    std::unique_lock lock(mutex_);
    const auto library = library_;
    while (!closed_ && id == listener_) {
      lock.unlock();
      auto error = WaitForEvents(id, *library, uuids);
      lock.lock();
      relay_.End(id);
      if (!error || closed_ || id != listener_) {
        return;
      }
      // The next event set is made of the GPUs that can be registered then: a lost GPU must not
      // hold back the events of the rest.
      options_.tell(WaitFailed{*std::move(error)});
      changed_.wait_for(lock, kEventPause, [&] { return closed_ || id != listener_; });
    }
  }

  // Reports events until a wait fails (the result), or the listener is replaced or has no GPUs.
  std::optional<Error> WaitForEvents(int id, const nvml::Library& library,
                                     const std::vector<std::string>& uuids) {
    auto set = library.NewEventSet();
    if (!set) {
      return std::nullopt;
    }
    // A GPU without events is still probed.
    if (std::ranges::count_if(
            uuids, [&set](const auto& uuid) { return (*set)->Register(uuid).has_value(); }) == 0) {
      return std::nullopt;
    }
    std::chrono::milliseconds wait{};
    {
      const std::lock_guard lock(mutex_);
      relay_.Listen(id);
      wait = event_wait_;
    }
    for (;;) {
      auto event = (*set)->Wait(wait);
      const std::lock_guard lock(mutex_);
      wait = event_wait_;
      if (closed_) {
        return std::nullopt;
      }
      // Also the event of a replaced listener: the next one may not have listened yet.
      if (event) {
        Tell(id, *event);
      }
      if (id != listener_) {
        return std::nullopt;
      }
      if (!event) {
        return std::move(event).error();
      }
    }
  }

  // With the mutex held.
  void Tell(int listener, const std::optional<nvml::EventSet::Event>& event) {
    if (!event || !relay_.IsNew(listener, *event, RealClock().Now())) {
      return;
    }
    if (event->mig_changed) {
      options_.tell(GpusChanged{});
      return;
    }
    options_.tell(XidEvent{.gpu_uuid = event->uuid,
                           .xid = event->xid,
                           .gpu_instance = event->gpu_instance,
                           .compute_instance = event->compute_instance});
  }

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::shared_ptr<nvml::Library> library_;
  std::map<std::string, NodeIdentity> nodes_;  // when it was opened
  bool has_worker_ = false;
  int worker_ = 0;    // the number of the current worker
  int listener_ = 0;  // ditto, of the listener
  std::chrono::milliseconds event_wait_ = kEventWait;
  EventRelay relay_;
  bool look_wanted_ = false;
  bool looking_ = false;
  bool close_wanted_ = false;
  bool forgotten_ = false;           // for this close
  uint64_t looks_ = 0;               // requested
  std::vector<std::string> wanted_;  // probes
  std::optional<Running> running_;
  std::set<std::string> stuck_;
};

Monitor::Monitor(Options options) : state_(std::make_shared<State>(std::move(options))) {}
Monitor::~Monitor() { state_->Close(); }
uint64_t Monitor::Look() { return state_->Look(); }
void Monitor::CloseDriver() { state_->CloseDriver(); }
void Monitor::Probe(std::vector<std::string> uuids) { state_->Probe(std::move(uuids)); }
std::optional<SteadyTime> Monitor::overdue_at() const { return state_->overdue_at(); }
void Monitor::CheckOverdue() { state_->CheckOverdue(); }

}  // namespace gantry::gpu
