// SPDX-License-Identifier: Apache-2.0
// How does `gantry status --watch` stay live? Four watches fill the facts; a change, a signal or a
// resize of the terminal wakes the one loop that draws. Changes come in groups, so a table is drawn
// after a pause, or when the first change has waited long enough. A watch reports failures but no
// recovery, so after a failure the loop asks the server itself.
#include "doctor/status_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "doctor/facts.h"
#include "doctor/policy_facts.h"
#include "doctor/read_cluster.h"
#include "doctor/status_table.h"
#include "host/signals.h"
#include "kube/watch.h"
#include "policy/kinds.h"

namespace gantry::doctor {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuiet(50);
constexpr milliseconds kLongest(500);
constexpr milliseconds kAskAgain(2000);  // between requests to a server that does not respond
constexpr milliseconds kAnswer(1000);    // timeout of such a request

void WriteOut(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Wakes a poll from another thread.
class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd_.valid()); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  void Ring() const { CHECK(eventfd_write(fd_.get(), 1) == 0); }
  // Not readable until the next ring.
  void Hush() const {
    eventfd_t rings = 0;
    eventfd_read(fd_.get(), &rings);
  }

 private:
  Fd fd_;
};

// The objects of one kind, as facts by name.
template <typename Facts>
class Kept : public kube::WatchSink {
 public:
  using Project = std::optional<Facts> (*)(const Json&);
  Kept(Project project, const Bell& bell) : project_(project), bell_(bell) {}

  void Upsert(const Json& object) override {
    std::optional<Facts> facts = project_(object);
    const std::scoped_lock lock(mutex_);
    if (facts.has_value()) {
      facts_.insert_or_assign(kube::KeyOf(object), *std::move(facts));
    } else {
      facts_.erase(kube::KeyOf(object));
    }
    bell_.Ring();
  }
  void Remove(const kube::Key& key) override {
    const std::scoped_lock lock(mutex_);
    facts_.erase(key);
    bell_.Ring();
  }
  void Synced() override {
    whole_ = true;
    bell_.Ring();
  }
  // All objects of the start have been seen.
  [[nodiscard]] bool whole() const { return whole_; }

  [[nodiscard]] std::vector<Facts> All() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Facts> all;
    all.reserve(facts_.size());
    for (const auto& [key, facts] : facts_) {
      all.push_back(facts);
    }
    return all;
  }

 private:
  const Project project_;
  const Bell& bell_;
  std::atomic<bool> whole_ = false;
  mutable std::mutex mutex_;
  std::map<kube::Key, Facts> facts_;
};

// A watch's failure: permanent or temporary.
class Trouble {
 public:
  explicit Trouble(const Bell& bell) : bell_(bell) {}
  void Tell(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (error.kind == ErrorKind::kDenied || error.kind == ErrorKind::kInvalid) {
      fatal_ = error;
    } else if (error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kTimeout) {
      failed_ = true;
    }
    bell_.Ring();
  }
  // Whether a watch has failed temporarily since the last call.
  bool TakeFailed() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(failed_, false);
  }
  [[nodiscard]] std::optional<Error> fatal() const {
    const std::scoped_lock lock(mutex_);
    return fatal_;
  }

 private:
  const Bell& bell_;
  mutable std::mutex mutex_;
  std::optional<Error> fatal_;
  bool failed_ = false;
};

// The alternate screen of a terminal, without a cursor, while the object exists; afterwards the
// earlier screen is back (xterm control sequences 1049 and 25).
class AlternateScreen {
 public:
  AlternateScreen() { WriteOut("\x1b[?1049h\x1b[?25l"); }
  ~AlternateScreen() { WriteOut("\x1b[?25h\x1b[?1049l"); }
  AlternateScreen(const AlternateScreen&) = delete;
  AlternateScreen& operator=(const AlternateScreen&) = delete;

  static void Draw(const std::string& text) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
      size = {};
    }
    WriteOut(Screen(text, size.ws_row, size.ws_col));
  }
};

// SIGWINCH and SIGTSTP as a descriptor. Make it before any thread, because threads inherit the
// blocked signals.
Fd TerminalSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGWINCH);
  sigaddset(&signals, SIGTSTP);
  CHECK(pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0);
  Fd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  CHECK(fd.valid());
  return fd;
}

// As the default of SIGTSTP: stops until SIGCONT, and not at all in an orphaned process group,
// which no shell could continue (setpgid(2)).
void StopProcess() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  std::raise(SIGTSTP);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &stop, nullptr) == 0);
  CHECK(pthread_sigmask(SIG_BLOCK, &stop, nullptr) == 0);
}

class View {
 public:
  View(kube::Client& client, const std::string& operand_namespace)
      : client_(client.Bounded({}, kAnswer)),
        nodes_([](const Json& node) { return std::optional(NodeFrom(node)); }, bell_),
        operands_(OperandFrom, bell_),
        policies_([](const Json& policy) { return std::optional(PolicyFrom(policy)); }, bell_),
        short_forms_([](const Json& policy) { return std::optional(PolicyFrom(policy)); }, bell_),
        gpu_clusters_([](const Json& policy) { return std::optional(PolicyFrom(policy)); }, bell_),
        trouble_(bell_),
        watch_nodes_(client, kube::kinds::kNode, {}, nodes_, Options()),
        watch_operands_(client, kube::kinds::kDaemonSet,
                        {.ns = operand_namespace, .labels = OwnedSelector()}, operands_,
                        OptionsWithout(operands_)),
        watch_policies_(client, policy::kClusterPolicy, {}, policies_, Options()),
        watch_short_forms_(client, policy::kGpuClusterPolicy, {}, short_forms_,
                           OptionsWithout(short_forms_)),
        watch_gpu_clusters_(client, policy::kGpuCluster, {}, gpu_clusters_,
                            OptionsWithout(gpu_clusters_)) {}

  // Blocks until a signal ends it.
  Status Run() {
    for (kube::Watch* watch : {&watch_nodes_, &watch_operands_, &watch_policies_,
                               &watch_short_forms_, &watch_gpu_clusters_}) {
      watch->Start();
    }
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    std::string shown;
    while (Wait()) {
      if (std::optional<Error> fatal = trouble_.fatal()) {
        return std::unexpected(*std::move(fatal));
      }
      if (!nodes_.whole() || !operands_.whole() || !policies_.whole() || !short_forms_.whole() ||
          !gpu_clusters_.whole()) {
        continue;
      }
      AskServer();
      ClusterFacts cluster;
      cluster.nodes = nodes_.All();
      cluster.operands = operands_.All();
      cluster.policies = policies_.All();
      if (cluster.policies.empty()) {
        cluster.policies = short_forms_.All();
      }
      if (cluster.policies.empty()) {
        cluster.policies = gpu_clusters_.All();
      }
      const std::string text = away_ + StatusText(cluster);
      if (terminal) {
        if (!screen_) {
          screen_.emplace();
        }
        AlternateScreen::Draw(text);
      } else if (text != shown) {
        WriteOut(format("# {}\n{}\n", Rfc3339(RealClock().Wall()), text));
      }
      shown = text;
    }
    return {};
  }

 private:
  // Without the right to list them, the table has none of these.
  template <typename Facts>
  kube::WatchOptions OptionsWithout(Kept<Facts>& kept) {
    kube::WatchOptions options = Options();
    options.on_failure = [this, &kept](const Error& error) {
      if (error.kind == ErrorKind::kDenied) {
        kept.Synced();
      } else {
        trouble_.Tell(error);
      }
    };
    return options;
  }

  kube::WatchOptions Options() {
    kube::WatchOptions options;
    options.absent_kind_is_empty = true;
    options.on_failure = [this](const Error& error) { trouble_.Tell(error); };
    return options;
  }

  // Whether the server that failed a watch is unreachable.
  void AskServer() {
    if (!trouble_.TakeFailed() && away_.empty()) {
      return;
    }
    const Result<Json> answer = client_->GetPath("/version");
    if (answer.has_value() || (answer.error().kind != ErrorKind::kUnavailable &&
                               answer.error().kind != ErrorKind::kTimeout)) {
      away_.clear();
    } else if (away_.empty()) {
      away_ = format("not connected since {}: {}\n\n", Rfc3339(RealClock().Wall()),
                     answer.error().message);
    }
  }

  // A resize of the terminal, or Ctrl-Z.
  void TakeTerminalSignals() {
    signalfd_siginfo info{};
    while (read(terminal_.get(), &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo == SIGTSTP) {
        screen_.reset();
        StopProcess();
      }
    }
  }

  // Waits for a change and then for a pause of changes. False: a signal ends it.
  bool Wait() {
    std::array<pollfd, 4> events = {{{signals_.stop_fd(), POLLIN, 0},
                                     {signals_.reload_fd(), POLLIN, 0},
                                     {terminal_.get(), POLLIN, 0},
                                     {bell_.fd(), POLLIN, 0}}};
    std::optional<SteadyTime> deadline;
    while (true) {
      const int timeout =
          deadline ? static_cast<int>(
                         std::clamp(std::chrono::ceil<milliseconds>(*deadline - RealClock().Now()),
                                    milliseconds(0), kQuiet)
                             .count())
          : away_.empty() ? -1
                          : static_cast<int>(kAskAgain.count());
      const int ready = poll(events.data(), events.size(), timeout);
      if (ready < 0) {
        CHECK(errno == EINTR);
        continue;
      }
      if (events[0].revents != 0 || events[1].revents != 0) {
        return false;
      }
      if (ready == 0 || (deadline && RealClock().Now() >= *deadline)) {
        return true;
      }
      TakeTerminalSignals();
      bell_.Hush();
      if (!deadline) {
        deadline = RealClock().Now() + kLongest;
      }
    }
  }

  const host::Signals signals_;
  const Fd terminal_ = TerminalSignals();
  const std::unique_ptr<kube::Client> client_;
  std::string away_;  // since when the server does not respond, for the table; empty: it does
  Bell bell_;
  Kept<NodeFacts> nodes_;
  Kept<OperandFacts> operands_;
  Kept<PolicyFacts> policies_;
  Kept<PolicyFacts> short_forms_;
  Kept<PolicyFacts> gpu_clusters_;
  Trouble trouble_;
  // The watches end before the facts do, and the terminal is restored before the watches end.
  kube::Watch watch_nodes_;
  kube::Watch watch_operands_;
  kube::Watch watch_policies_;
  kube::Watch watch_short_forms_;
  kube::Watch watch_gpu_clusters_;
  std::optional<AlternateScreen> screen_;
};

}  // namespace

Status WatchStatus(kube::Client& client, const std::string& operand_namespace) {
  return View(client, operand_namespace).Run();
}

}  // namespace gantry::doctor
