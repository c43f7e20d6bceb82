// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "kube/cache.h"
#include "kube/client.h"

namespace gantry::gpu_operator {

// One watch, with the kept parts of each of its objects. The client and the kind outlive it.
template <typename Facts>
struct WatchedKind {
  using Cache = kube::Cache<Facts>;
  // `changed` and `synced` as in the cache.
  WatchedKind(kube::Client& client, const kube::Kind& of, const kube::Selection& selection,
              typename Cache::Project project, typename Cache::Changed changed,
              std::function<void()> synced, const kube::WatchOptions& options = {})
      : kind(of),
        cache(std::move(project), std::move(changed), std::move(synced)),
        watch(client, of, selection, cache, options) {}

  const kube::Kind& kind;
  Cache cache;
  kube::Watch watch;
};

// Calls it for any change.
inline auto Always(const std::function<void()>& changed) {
  return [changed](const kube::Key&, const auto&, const auto&) { changed(); };
}

// For kinds that a cluster may lack.
inline kube::WatchOptions AbsentIsEmpty() {
  kube::WatchOptions options;
  options.absent_kind_is_empty = true;
  return options;
}

}  // namespace gantry::gpu_operator
