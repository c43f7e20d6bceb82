// SPDX-License-Identifier: Apache-2.0
// When does an object reach the awaited state? A watch of that object alone tells; the caller
// sleeps until then.

// A command that must wait for one object: a watch of that object alone, and a place where the
// caller sleeps until the watch has seen what it waits for.

#include "kube/await_object.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/text.h"
#include "kube/watch.h"

namespace gantry::kube {
namespace {

class Awaiting : public WatchSink {
 public:
  explicit Awaiting(const std::function<bool(const Json* object)>& awaited) : awaited_(awaited) {}

  void Upsert(const Json& object) override {
    there_ = true;
    Ask(&object);
  }
  void Remove(const Key& /*key*/) override { Ask(nullptr); }
  void Synced() override {
    if (!there_) {
      Ask(nullptr);
    }
  }
  void Failed(const Error& error) {
    if (error.kind == ErrorKind::kDenied) {
      End(std::unexpected(error));
    } else {
      const std::lock_guard lock(mutex_);
      last_failure_ = error.message;
    }
  }

  Status Wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [this] { return end_.has_value(); });
    if (end_.has_value()) {
      return *end_;
    }
    return Fail(ErrorKind::kTimeout,
                format("not seen within {} s{}{}",
                       std::chrono::round<std::chrono::seconds>(at_most).count(),
                       last_failure_.empty() ? "" : "; ", last_failure_));
  }

 private:
  void Ask(const Json* object) {
    if (!asked_enough_ && awaited_(object)) {
      End({});
    }
  }
  void End(Status status) {
    asked_enough_ = true;
    const std::lock_guard lock(mutex_);
    end_ = std::move(status);
    changed_.notify_all();
  }

  const std::function<bool(const Json* object)>& awaited_;
  bool there_ = false;         // used by the watch's thread only
  bool asked_enough_ = false;  // used by the watch's thread only
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Status> end_;
  std::string last_failure_;
};

}  // namespace

Status AwaitObject(Client& client, const Kind& kind, const std::string& name,
                   std::chrono::milliseconds at_most,
                   const std::function<bool(const Json* object)>& awaited) {
  Awaiting awaiting(awaited);
  WatchOptions options;
  options.on_failure = [&awaiting](const Error& error) { awaiting.Failed(error); };
  options.absent_kind_is_empty = true;
  Watch watch(client, kind, {.fields = "metadata.name=" + name}, awaiting, options);
  watch.Start();
  return awaiting.Wait(at_most);
}

}  // namespace gantry::kube
