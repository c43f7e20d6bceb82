// SPDX-License-Identifier: Apache-2.0
// What does the API server say of this node's pods and devices? One watch of its pods, if their
// labels or uids are asked for, and one of the GPU driver's ResourceSlices, if claims are; and each
// ResourceClaim once, because only it says whether a pod uses its devices or just looks at them.
#include "operands/metrics_exporter/cluster_watch.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/watch.h"

namespace gantry::metrics_exporter {
namespace {

constexpr std::chrono::seconds kAskAgain(10);

kube::Selection OfNode(const std::string& node, std::string fields) {
  if (!node.empty()) {
    fields += format("{}spec.nodeName={}", fields.empty() ? "" : ",", node);
  }
  return {.ns = "", .labels = "", .fields = std::move(fields)};
}

}  // namespace

class ClusterWatch::State {
 public:
  State(Options options, std::unique_ptr<kube::Client> client)
      : options_(std::move(options)),
        client_(std::move(client)),
        pods_(
            [this](const Json& pod) {
              return PodFacts{.uid = kube::UidOf(pod),
                              .labels = options_.labels ? SeriesLabels(pod, options_.filter)
                                                        : gpu::PodLabels()};
            },
            [this](const auto&, const auto&, const auto&) { options_.changed(); }),
        slices_(ProjectSlice,
                [this](const auto&, const auto&, const auto&) { options_.changed(); }) {
    if (options_.pods) {
      pod_watch_.emplace(*client_, kube::kinds::kPod, OfNode(options_.node, ""), pods_);
      pod_watch_->Start();
    }
    if (options_.slices) {
      thread_ = std::jthread([this](const std::stop_token& stop) { WatchSlices(stop); });
    }
  }

  [[nodiscard]] std::map<kube::Key, PodFacts> Pods() const {
    std::map<kube::Key, PodFacts> all;
    pods_.ForEach([&all](const kube::Key& key, const PodFacts& facts) { all[key] = facts; });
    return all;
  }

  [[nodiscard]] std::vector<Slice> Slices() const {
    std::vector<Slice> all;
    slices_.ForEach([&all](const kube::Key&, const Slice& slice) { all.push_back(slice); });
    return all;
  }

  void WantClaims(std::set<kube::Key> claims) {
    if (!options_.slices) {
      return;
    }
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(claims);
    std::erase_if(claims_, [this](const auto& entry) { return !wanted_.contains(entry.first); });
    stopped_.notify_all();
  }

  [[nodiscard]] Claims KnownClaims() const {
    const std::lock_guard lock(mutex_);
    return claims_;
  }

 private:
  // v1 if the cluster has it (since 1.34), else v1beta1. Blocks until the API server answers;
  // nullopt: stopped before.
  std::optional<kube::Kind> SliceKind(const std::stop_token& stop) {
    kube::Kind kind = kube::kinds::kResourceSlice;
    const auto client = client_->Bounded(stop);
    while (!stop.stop_requested()) {
      const auto served = client->GetPath("/apis/resource.k8s.io/v1");
      if (served || served.error().kind == ErrorKind::kNotFound) {
        kind.version = served ? "v1" : "v1beta1";
        return kind;
      }
      log::Warning("no claims in metrics: {}", served.error().message);
      std::unique_lock lock(mutex_);
      stopped_.wait_for(lock, stop, kAskAgain, [] { return false; });
    }
    return std::nullopt;
  }

  // The next claim that is wanted and not known; nullopt: stopped.
  std::optional<kube::Key> NextClaim(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    std::optional<kube::Key> next;
    stopped_.wait(lock, stop, [&] {
      for (const kube::Key& key : wanted_) {
        if (!claims_.contains(key)) {
          next = key;
        }
      }
      return next.has_value();
    });
    return stop.stop_requested() ? std::nullopt : next;
  }

  void ReadClaims(const std::stop_token& stop, std::string_view version) {
    kube::Kind kind = kube::kinds::kResourceClaim;
    kind.version = version;
    const auto client = client_->Bounded(stop);
    std::string told;
    while (const auto key = NextClaim(stop)) {
      const auto claim = client->Get(kind, *key);
      const bool lasts = !claim && claim.error().kind != ErrorKind::kNotFound &&
                         claim.error().kind != ErrorKind::kDenied;
      if (!claim && claim.error().kind != ErrorKind::kNotFound && claim.error().message != told) {
        told = claim.error().message;
        log::Warning("whether claims only look at GPUs is not known: {}", told);
      }
      std::unique_lock lock(mutex_);
      if (lasts) {
        stopped_.wait_for(lock, stop, kAskAgain, [] { return false; });
        continue;
      }
      if (wanted_.contains(*key)) {
        claims_[*key] = claim ? ProjectClaim(*claim) : AdminDevices();
      }
      lock.unlock();
      options_.changed();
    }
  }

  void WatchSlices(const std::stop_token& stop) {
    const auto kind = SliceKind(stop);
    if (!kind) {
      return;
    }
    kube::Watch watch(*client_, *kind,
                      OfNode(options_.node, format("spec.driver={}", kClaimDriver)), slices_,
                      {.absent_kind_is_empty = true});
    watch.Start();
    ReadClaims(stop, kind->version);
  }

  const Options options_;
  const std::unique_ptr<kube::Client> client_;
  kube::Cache<PodFacts> pods_;
  kube::Cache<Slice> slices_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;  // or other claims are wanted
  std::set<kube::Key> wanted_;
  Claims claims_;
  std::optional<kube::Watch> pod_watch_;
  std::jthread thread_;
};

ClusterWatch::ClusterWatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
ClusterWatch::~ClusterWatch() = default;

Result<std::unique_ptr<ClusterWatch>> ClusterWatch::Start(Options options) {
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(options.kubeconfig));
  TRY_ASSIGN(auto client, kube::Client::Create(std::move(config), {.component = "dcgm-exporter",
                                                                   .max_idle_connections = 0}));
  return std::unique_ptr<ClusterWatch>(
      new ClusterWatch(std::make_unique<State>(std::move(options), std::move(client))));
}

std::map<kube::Key, PodFacts> ClusterWatch::Pods() const { return state_->Pods(); }

SliceDevices ClusterWatch::Devices() const { return CompletePools(state_->Slices()); }

void ClusterWatch::WantClaims(std::set<kube::Key> claims) { state_->WantClaims(std::move(claims)); }

Claims ClusterWatch::KnownClaims() const { return state_->KnownClaims(); }

}  // namespace gantry::metrics_exporter
