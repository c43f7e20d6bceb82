// SPDX-License-Identifier: Apache-2.0
// Who holds the GPUs now? The kubelet writes a checkpoint when it allocates devices, and makes and
// removes a folder for each pod. Then it is asked, never by a scrape. While it does not answer,
// what it said last counts for a while: pods don't end because a kubelet restarts.
#include "operands/metrics_exporter/pods.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/paths.h"
#include "gpu/pod_list.h"
#include "host/watch.h"
#include "kubelet/folders.h"
#include "operands/metrics_exporter/list_times.h"

namespace gantry::metrics_exporter {
namespace {

// As long as dcgm-exporter waits.
constexpr std::chrono::seconds kPatience(10);

}  // namespace

class PodFollower::State {
 public:
  explicit State(Options options)
      : options_(std::move(options)), times_({.interval = options_.interval}) {}

  void Run();
  void Wake() { mailbox_.Post(true); }

  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    Wake();
  }

  void SetCluster(ClusterWatch* cluster) {
    const std::lock_guard lock(mutex_);
    cluster_ = cluster;
  }

 private:
  void WatchFolders();
  [[nodiscard]] std::vector<std::string> KubeletFolders() const;
  void List();
  void Look();
  void Tell();
  SteadyTime Deadline() const;

  const Options options_;
  Mailbox<bool> mailbox_;
  std::optional<host::Watcher> watcher_;
  ListTimes times_;
  SteadyTime look_at_{};
  PodsSeen seen_;
  std::optional<PodsSeen> told_;
  std::string error_;  // as last logged

  std::mutex mutex_;  // of the rest
  bool closed_ = false;
  ClusterWatch* cluster_ = nullptr;
};

// Those in which something happens when pods come and go. Without the first of them there are no
// events. Below the host's root, or here where they are mounted themselves.
std::vector<std::string> PodFollower::State::KubeletFolders() const {
  std::error_code error;
  const auto here = [&](const std::string& host_path) {
    std::string in_root = ResolveInRoot(options_.host_root, host_path).value_or(host_path);
    return std::filesystem::is_directory(in_root, error) ? in_root : host_path;
  };
  std::vector<std::string> folders;
  for (const std::string& plugins : kubelet::DevicePluginFolders(options_.kubelet_root)) {
    if (std::filesystem::is_directory(here(plugins), error)) {
      folders.push_back(here(plugins));
    }
  }
  if (!folders.empty()) {
    folders.push_back(here(JoinPath(options_.kubelet_root, "pods")));
  }
  return folders;
}

void PodFollower::State::WatchFolders() {
  auto watcher = host::Watcher::Create();
  Status added;
  if (watcher) {
    watcher_ = *std::move(watcher);
    std::vector<std::string> folders;
    if (!options_.jobs.empty()) {
      folders.push_back(options_.jobs);
    }
    if (!options_.socket.empty()) {
      folders.push_back(options_.socket);
      const std::vector<std::string> kubelet = KubeletFolders();
      times_.SetEvents(!kubelet.empty());
      folders.insert(folders.end(), kubelet.begin(), kubelet.end());
    }
    for (const std::string& folder : folders) {
      added = added ? watcher_->Add(folder) : added;
    }
  } else {
    added = std::unexpected(watcher.error());
  }
  if (!added) {
    times_.SetEvents(false);
    log::Warning("pods are looked for in each interval only: {}", added.error().message);
  }
}

void PodFollower::State::List() {
  auto pods = gpu::ListPods(options_.socket, kPatience);
  const SteadyTime now = RealClock().Now();
  if (pods) {
    times_.Listed(now);
    error_.clear();
    seen_.pods = *std::move(pods);
    return;
  }
  if (times_.Failed(now)) {
    seen_.pods.clear();
  }
  if (pods.error().message != error_) {
    error_ = pods.error().message;
    log::Warning("no news of pods for metrics: {}", error_);
  }
}

void PodFollower::State::Look() {
  if (!options_.socket.empty()) {
    seen_.node = host::ReadPodsOfNode(options_.host_root);
  }
  if (!options_.jobs.empty()) {
    if (auto jobs = ReadJobs(options_.jobs)) {
      seen_.jobs = *std::move(jobs);
    }
  }
}

void PodFollower::State::Tell() {
  const std::lock_guard lock(mutex_);
  if (cluster_ != nullptr) {
    cluster_->WantClaims(ClaimsOf(seen_.pods));
    seen_.facts = cluster_->Pods();
    seen_.devices = cluster_->Devices();
    seen_.claims = cluster_->KnownClaims();
  }
  if (!closed_ && told_ != seen_) {
    told_ = seen_;
    options_.tell(seen_);
  }
}

SteadyTime PodFollower::State::Deadline() const {
  const SteadyTime never = RealClock().Now() + std::chrono::hours(1);
  return std::min(options_.socket.empty() ? never : times_.next(),
                  options_.looks_at_cgroups ? look_at_ : never);
}

void PodFollower::State::Run() {
  WatchFolders();
  while (true) {
    const SteadyTime now = RealClock().Now();
    if (!options_.socket.empty() && now >= times_.next()) {
      List();
    }
    look_at_ = RealClock().Now() + options_.interval;
    Look();
    Tell();
    const std::array<int, 2> descriptors = {mailbox_.fd(), watcher_ ? watcher_->fd() : -1};
    const std::vector<bool> ready = host::WaitReadable(descriptors, Deadline());
    if (ready[0]) {
      mailbox_.Take();
    }
    if (watcher_ && ready[1] && !watcher_->Take().empty()) {
      times_.Changed(RealClock().Now());
    }
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return;
    }
  }
}

PodFollower::PodFollower(Options options) {
  auto cluster = std::exchange(options.cluster, std::nullopt);
  state_ = std::make_shared<State>(std::move(options));
  if (cluster) {
    cluster->changed = [state = state_] { state->Wake(); };
    auto started = ClusterWatch::Start(*std::move(cluster));
    if (started) {
      cluster_ = *std::move(started);
      state_->SetCluster(cluster_.get());
    } else {
      log::Error("no pod labels and claims in metrics: {}", started.error().message);
    }
  }
  std::thread([state = state_] { state->Run(); }).detach();
}

PodFollower::~PodFollower() {
  state_->SetCluster(nullptr);
  state_->Close();
}

}  // namespace gantry::metrics_exporter
