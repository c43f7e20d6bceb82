// SPDX-License-Identifier: Apache-2.0
// When does the worker inspect its node again? When a PCI device is added or removed, when a file
// in features.d or custom.d changes or expires, on SIGHUP, and each minute for facts without events
// (swap, huge pages). Without changes it sends no request to the API server. A failure does not
// change the published labels.
#include "operands/node_features/node_features.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <optional>

#include "agent/flags.h"
#include "agent/loop.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "host/signals.h"
#include "host/uevents.h"
#include "host/watch.h"
#include "http/server.h"
#include "operands/node_features/flags.h"
#include "operands/node_features/gather.h"
#include "operands/node_features/publisher.h"
#include "operands/node_features/worker_metrics.h"

namespace gantry::node_features {
namespace {

// Without kernel events for PCI devices, and after a failure whose end has no event.
constexpr std::chrono::seconds kRescan(60);
// A hot-plugged board has several functions: they are handled together.
constexpr std::chrono::milliseconds kSettle(200);

class Worker {
 public:
  Worker(Flags flags, host::Signals& signals, host::Watcher watcher)
      : flags_(std::move(flags)),
        loop_({.failure = "labels stay as they are", .settle = kSettle}, signals,
              std::move(watcher)),
        publisher_({.node = flags_.node_name,
                    .ns = flags_.ns,
                    .component = kProgram,
                    .kubeconfig = flags_.kubeconfig}) {
    metrics_.node = flags_.node_name;
    metrics_.started = std::chrono::system_clock::to_time_t(RealClock().Wall());
  }

  int Run();

 private:
  Status Watch();
  Status Listen();
  Sources FindSources() const;
  Status Look();
  Status Store(const Described& node);
  [[nodiscard]] SteadyTime NextLook(const Status& looked) const;

  const Flags flags_;
  agent::Loop loop_;
  agent::FeaturePublisher publisher_;
  std::optional<host::Uevents> uevents_;
  std::optional<Described> stored_;  // what was last stored or found stored
  std::optional<WallTime> next_expiry_;
  std::vector<std::string> warnings_;
  std::mutex metrics_mutex_;
  WorkerMetrics metrics_;
  std::unique_ptr<http::Server> server_;  // null: no server; last, as it reads the rest
};

Status Worker::Watch() {
  TRY(loop_.watcher().Add(flags_.features_dir));
  if (Result<host::Uevents> uevents = host::Uevents::Open(); uevents.has_value()) {
    uevents_ = *std::move(uevents);
  } else {
    log::Warning("{}; PCI devices are looked for every {} s", uevents.error().message,
                 kRescan.count());
  }
  return {};
}

Status Worker::Listen() {
  if (flags_.port == 0) {
    return {};
  }
  TRY_ASSIGN(server_,
             http::Server::Start(format(":{}", flags_.port), [this](std::string_view path) {
               if (path == "/healthz") {
                 return http::Response{200, "ok"};
               }
               if (path != "/metrics") {
                 return http::Response{404, "not found"};
               }
               const std::lock_guard lock(metrics_mutex_);
               return http::MetricsResponse(FormatMetrics(metrics_));
             }));
  return {};
}

Sources Worker::FindSources() const {
  Sources sources = HostSources(flags_.host_prefix);
  sources.features_dir = flags_.features_dir;
  sources.kernel_config = flags_.config.kernel_config;
  sources.node_name = flags_.node_name;
  sources.custom_dir = flags_.custom_dir;
  return sources;
}

Status Worker::Store(const Described& node) {
  if (flags_.no_publish) {
    if (flags_.oneshot) {
      for (const auto& [key, value] : node.labels) {
        std::printf("%s=%s\n", key.c_str(), value.c_str());
      }
    }
    return {};
  }
  if (stored_.has_value() && !IsNews(*stored_, node) && !loop_.VerifyIsDue()) {
    return {};
  }
  const auto publish = [&](kube::Client& client) { return Publish(publisher_, client, node); };
  // A process with a server thread must not fork a child.
  TRY_ASSIGN(const bool written, server_ != nullptr
                                     ? publisher_.Connected(publish)
                                     : publisher_.ConnectedInChild(publish, loop_.stop_fd()));
  if (written) {
    log::Info("labels published: {}", node.labels.size());
  }
  stored_ = node;
  loop_.Verified();
  return {};
}

Status Worker::Look() {
  const SteadyTime began = RealClock().Now();
  for (const std::string& folder : CustomFolders(flags_.custom_dir)) {
    TRY(loop_.watcher().Add(folder));
  }
  TRY_ASSIGN(const Facts facts, Gather(FindSources(), flags_.config.labels));
  Labelled labelled = NodeLabels(facts, flags_.config.labels, RealClock().Wall());
  next_expiry_ = labelled.next_expiry;
  if (labelled.warnings != warnings_) {
    for (const std::string& warning : labelled.warnings) {
      log::Warning("{}", warning);
    }
    warnings_ = std::move(labelled.warnings);
  }
  {
    const std::lock_guard lock(metrics_mutex_);
    metrics_.discovery_seconds.Observe(
        std::chrono::duration<double>(RealClock().Now() - began).count());
  }
  return Store({std::move(labelled.labels), std::move(labelled.features)});
}

// When to look again without an event.
SteadyTime Worker::NextLook(const Status& looked) const {
  using Steady = std::chrono::steady_clock::duration;
  const SteadyTime now = RealClock().Now();
  Steady pause = loop_.verify_after();
  if (flags_.config.sleep_interval.has_value()) {
    pause = std::min(pause, std::chrono::ceil<Steady>(*flags_.config.sleep_interval));
  }
  if (!uevents_.has_value() || !looked.has_value()) {
    pause = std::min<Steady>(pause, kRescan);
  }
  SteadyTime next = now + pause;
  if (next_expiry_.has_value()) {
    const auto left = *next_expiry_ - RealClock().Wall() + kSettle;
    next = std::min(next, now + std::max<Steady>(left, kSettle));
  }
  return next;
}

int Worker::Run() {
  for (const Status& begun : {Watch(), Listen()}) {
    if (!begun.has_value()) {
      log::Error("{}", begun.error().message);
      return 1;
    }
  }
  return loop_.Run([this] { return Look(); },
                   [this](const Status& looked) { return NextLook(looked); },
                   {.fd = uevents_.has_value() ? uevents_->fd() : -1,
                    .happened = [this] { return uevents_.has_value() && uevents_->TakeDevices(); }},
                   [this] { return flags_.oneshot; });
}

int RunWorker(Flags flags) {
  for (const std::string& warning : flags.config.warnings) {
    log::Warning("{}", warning);
  }
  host::Signals signals;
  Result<host::Watcher> watcher = host::Watcher::Create();
  if (!watcher.has_value()) {
    log::Error("{}", watcher.error().message);
    return 1;
  }
  return Worker(std::move(flags), signals, *std::move(watcher)).Run();
}

}  // namespace

int RunNodeFeatures(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), RunWorker);
}

}  // namespace gantry::node_features
