// SPDX-License-Identifier: Apache-2.0

// Which pods does the operator watch? None, except for driver upgrades: the driver's own, and those
// that a node's step needs, while it lasts. The API server selects them; a few fields of each are
// kept.

#include "operator/upgrade/watches.h"

#include <mutex>

namespace gantry::gpu_operator::upgrade {
namespace {

kube::Selection SelectionOf(const PodQuery& query) {
  return {.ns = query.ns,
          .labels = query.labels,
          .fields = query.node.empty() ? "" : "spec.nodeName=" + query.node};
}

}  // namespace

struct Watches::PodWatch {
  PodWatch(kube::Client& client, const PodQuery& query, const std::function<void()>& changed)
      : cache(
            ProjectPod, [changed](const kube::Key&, const auto&, const auto&) { changed(); },
            changed),
        watch(client, kube::kinds::kPod, SelectionOf(query), cache, OptionsWith(changed)) {
    watch.Start();
  }

  // A selector that the API server rejects stays invalid: log it for the user.
  kube::WatchOptions OptionsWith(const std::function<void()>& changed) {
    kube::WatchOptions options;
    options.on_failure = [this, changed](const Error& error) {
      if (error.kind == ErrorKind::kInvalid || error.kind == ErrorKind::kDenied) {
        {
          const std::lock_guard lock(mutex);
          failure = error.message;
        }
        changed();
      }
    };
    return options;
  }

  kube::Cache<PodFacts> cache;
  mutable std::mutex mutex;
  std::string failure;
  kube::Watch watch;
};

struct Watches::RevisionWatch {
  RevisionWatch(kube::Client& client, const std::string& ns, const std::function<void()>& changed)
      : cache(
            ProjectRevision, [changed](const kube::Key&, const auto&, const auto&) { changed(); },
            changed),
        watch(client, kube::kinds::kControllerRevision,
              {.ns = ns, .labels = kDriverPods, .fields = ""}, cache) {
    watch.Start();
  }
  kube::Cache<RevisionFacts> cache;
  kube::Watch watch;
};

Watches::Watches(kube::Client& client, std::string ns, std::function<void()> changed)
    : client_(client), ns_(std::move(ns)), changed_(std::move(changed)) {}

Watches::~Watches() = default;

void Watches::Use(const std::set<PodQuery>& queries) {
  std::erase_if(pods_, [&](const auto& entry) { return !queries.contains(entry.first); });
  if (queries.empty()) {
    revisions_ = nullptr;
  }
  for (const PodQuery& query : queries) {
    Add(query);
  }
}

void Watches::Add(const PodQuery& query) {
  std::unique_ptr<PodWatch>& watch = pods_[query];
  if (watch == nullptr) {
    watch = std::make_unique<PodWatch>(client_, query, changed_);
  }
  if (revisions_ == nullptr) {
    revisions_ = std::make_unique<RevisionWatch>(client_, ns_, changed_);
  }
}

Watches::Pods Watches::PodsOf(const PodQuery& query) const {
  const PodWatch& watch = *pods_.at(query);
  Pods pods;
  pods.seen = watch.cache.synced();
  watch.cache.ForEach(
      [&](const kube::Key& key, const PodFacts& facts) { pods.pods.push_back({key, facts}); });
  const std::lock_guard lock(watch.mutex);
  pods.failure = watch.failure;
  return pods;
}

std::vector<RevisionFacts> Watches::Revisions() const {
  std::vector<RevisionFacts> revisions;
  if (revisions_ != nullptr) {
    revisions_->cache.ForEach(
        [&](const kube::Key&, const RevisionFacts& facts) { revisions.push_back(facts); });
  }
  return revisions;
}

bool Watches::revisions_seen() const { return revisions_ != nullptr && revisions_->cache.synced(); }

}  // namespace gantry::gpu_operator::upgrade
