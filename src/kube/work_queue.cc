// SPDX-License-Identifier: Apache-2.0
// Which key is processed next? Three rules make a controller safe for any order of events: a
// waiting key is not added twice; a key in progress is given to no second worker, but remembered; a
// failed key is not due before its delay, unless it is added again.
#include "kube/work_queue.h"

namespace gantry::kube {

WorkQueue::WorkQueue(Backoff backoff, const Clock& clock) : backoff_(backoff), clock_(clock) {}

void WorkQueue::Add(const std::string& key) {
  {
    const std::scoped_lock lock(mutex_);
    AddLocked(key);
  }
  changed_.notify_one();
}

void WorkQueue::AddLocked(const std::string& key) {
  Entry& entry = entries_[key];
  if (entry.working) {
    entry.again = true;
    return;
  }
  if (entry.place == Entry::Place::kReady) {
    return;
  }
  LeaveLaterLocked(key, entry);
  entry.place = Entry::Place::kReady;
  ready_.push_back(key);
}

void WorkQueue::AddAfter(const std::string& key, std::chrono::milliseconds delay) {
  {
    const std::scoped_lock lock(mutex_);
    AddAtLocked(key, clock_.Now() + delay);
  }
  changed_.notify_one();
}

void WorkQueue::AddAtLocked(const std::string& key, SteadyTime due) {
  Entry& entry = entries_[key];
  if (entry.place == Entry::Place::kReady ||
      (entry.place == Entry::Place::kLater && entry.due <= due)) {
    return;
  }
  LeaveLaterLocked(key, entry);
  entry.place = Entry::Place::kLater;
  entry.due = due;
  later_.emplace(due, key);
}

void WorkQueue::LeaveLaterLocked(const std::string& key, Entry& entry) {
  if (entry.place != Entry::Place::kLater) {
    return;
  }
  const auto [first, last] = later_.equal_range(entry.due);
  for (auto place = first; place != last; ++place) {
    if (place->second == key) {
      later_.erase(place);
      break;
    }
  }
  entry.place = Entry::Place::kIdle;
}

std::optional<std::string> WorkQueue::TakeLocked() {
  const SteadyTime now = clock_.Now();
  while (!later_.empty() && later_.begin()->first <= now) {
    const std::string key = later_.begin()->second;
    AddLocked(key);
    // A key that was added while in progress is due again when that ends.
    LeaveLaterLocked(key, entries_[key]);
  }
  if (ready_.empty()) {
    return std::nullopt;
  }
  std::string key = std::move(ready_.front());
  ready_.pop_front();
  Entry& entry = entries_[key];
  entry.place = Entry::Place::kIdle;
  entry.working = true;
  return key;
}

std::optional<std::string> WorkQueue::TryTake() {
  const std::scoped_lock lock(mutex_);
  return TakeLocked();
}

std::optional<std::string> WorkQueue::Take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    std::optional<std::string> key = TakeLocked();
    if (key.has_value()) {
      // Another worker may be asleep although there is more to do, or an earlier due time to wait
      // for.
      if (!ready_.empty() || !later_.empty()) {
        changed_.notify_one();
      }
      return key;
    }
    const auto woken = [this] { return !ready_.empty(); };
    if (later_.empty()) {
      changed_.wait(lock, stop, [this] { return !ready_.empty() || !later_.empty(); });
    } else {
      const SteadyTime due = later_.begin()->first;
      changed_.wait_for(lock, stop, due - clock_.Now(), [this, &woken, due] {
        return woken() || (!later_.empty() && later_.begin()->first < due);
      });
    }
  }
  return std::nullopt;
}

void WorkQueue::Done(const std::string& key) {
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_[key];
    entry.working = false;
    entry.failures = 0;
    if (std::exchange(entry.again, false)) {
      AddLocked(key);
    }
    ForgetIfIdleLocked(key);
  }
  changed_.notify_one();
}

std::optional<std::chrono::milliseconds> WorkQueue::Failed(const std::string& key, ErrorKind kind) {
  std::optional<std::chrono::milliseconds> delay;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_[key];
    entry.working = false;
    ++entry.failures;
    delay = RetryDelay(kind, entry.failures, backoff_, Random());
    if (std::exchange(entry.again, false)) {
      AddLocked(key);
    } else if (delay.has_value()) {
      AddAtLocked(key, clock_.Now() + *delay);
    }
  }
  changed_.notify_one();
  return delay;
}

void WorkQueue::ForgetIfIdleLocked(const std::string& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.place == Entry::Place::kIdle &&
      !found->second.working && found->second.failures == 0) {
    entries_.erase(found);
  }
}

int WorkQueue::Failures(const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? 0 : found->second.failures;
}

size_t WorkQueue::size() const {
  const std::scoped_lock lock(mutex_);
  return ready_.size() + later_.size();
}

}  // namespace gantry::kube
