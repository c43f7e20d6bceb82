// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/watch.h"

namespace gantry::kube {

// A watch's sink that keeps only a projection T of each object (equality comparable), and reports a
// change only if the projection differs. Reads are thread-safe and never wait for the API server.
template <typename T>
class Cache : public WatchSink {
 public:
  using Project = std::function<T(const Json& object)>;
  // Called after the cache changed, without its lock, from the watch's thread. `before` and `after`
  // are null if the object did not exist before, or no longer exists.
  using Changed = std::function<void(const Key& key, const std::shared_ptr<const T>& before,
                                     const std::shared_ptr<const T>& after)>;
  // `synced` is called once, after the first complete list.
  explicit Cache(
      Project project, Changed changed = [](const Key&, const auto&, const auto&) {},
      std::function<void()> synced = [] {})
      : project_(std::move(project)), changed_(std::move(changed)), on_synced_(std::move(synced)) {}

  // nullptr if absent. The returned value never changes, also when the cache does.
  [[nodiscard]] std::shared_ptr<const T> Get(const Key& key) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second;
  }

  // A snapshot of all, in no order.
  [[nodiscard]] std::vector<std::pair<Key, std::shared_ptr<const T>>> Snapshot() const {
    const std::shared_lock lock(mutex_);
    return {objects_.begin(), objects_.end()};
  }

  // Calls `each` under the read lock: it must be short and not write to the cache.
  template <typename Each>
  void ForEach(Each&& each) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [key, value] : objects_) {
      each(key, *value);
    }
  }

  [[nodiscard]] size_t size() const {
    const std::shared_lock lock(mutex_);
    return objects_.size();
  }

  [[nodiscard]] bool synced() const {
    const std::shared_lock lock(mutex_);
    return synced_;
  }

  // Blocks until the first complete list was read; false if stopped before.
  bool WaitSynced(const std::stop_token& stop) const {
    std::shared_lock lock(mutex_);
    return synced_changed_.wait(lock, stop, [this] { return synced_; });
  }

  void Upsert(const Json& object) override {
    const Key key = KeyOf(object);
    auto after = std::make_shared<const T>(project_(object));
    std::shared_ptr<const T> before;
    {
      const std::unique_lock lock(mutex_);
      std::shared_ptr<const T>& place = objects_[key];
      if (place != nullptr && *place == *after) {
        return;
      }
      before = std::exchange(place, after);
    }
    changed_(key, before, after);
  }

  void Remove(const Key& key) override {
    std::shared_ptr<const T> before;
    {
      const std::unique_lock lock(mutex_);
      const auto found = objects_.find(key);
      if (found == objects_.end()) {
        return;
      }
      before = std::move(found->second);
      objects_.erase(found);
    }
    changed_(key, before, nullptr);
  }

  void Synced() override {
    {
      const std::unique_lock lock(mutex_);
      synced_ = true;
    }
    synced_changed_.notify_all();
    on_synced_();
  }

 private:
  const Project project_;
  const Changed changed_;
  const std::function<void()> on_synced_;
  mutable std::shared_mutex mutex_;
  mutable std::condition_variable_any synced_changed_;
  std::unordered_map<Key, std::shared_ptr<const T>> objects_;
  bool synced_ = false;
};

}  // namespace gantry::kube
