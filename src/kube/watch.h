// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "kube/backoff.h"
#include "kube/client.h"
#include "kube/failure_line.h"
#include "kube/relist.h"

namespace gantry::kube {

// Receives what a watch sees. All calls come from the watch's one thread.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // The object is new or changed. It may come again unchanged.
  virtual void Upsert(const Json& object) = 0;
  // The server reported the object as deleted (or no longer matching), in an event or by a complete
  // list.
  virtual void Remove(const Key& key) = 0;
  // All objects that existed at the start have been passed on. Called once.
  virtual void Synced() = 0;
};

struct WatchOptions {
  Backoff backoff{.base = std::chrono::milliseconds(200), .limit = std::chrono::seconds(30)};
  // Each watch asks the server to end it after a random time between these two. They are long, so
  // that an idle cluster gets no request for many minutes. TCP keep-alive notices a dead connection
  // within a minute.
  std::chrono::seconds server_timeout_min{1800};
  std::chrono::seconds server_timeout_max{3600};
  // After this silence a new stream resumes: a proxy in between answers keep-alives itself, even if
  // the server is gone. kube-apiserver sends a bookmark about once a minute (k8s.io/apiserver,
  // cacher: defaultBookmarkFrequency), so this costs nothing normally, and one request if a server
  // sends no bookmarks.
  std::chrono::seconds idle_limit{240};
  // "No such kind" counts as an empty list at the start (a CRD that may be installed later);
  // retried at the back-off's limit.
  bool absent_kind_is_empty = false;
  // Called with every failed list or stream, before the watch waits. An expired resourceVersion
  // (kConflict) is among them and harmless. Empty: the watch logs those that need a user's
  // attention, as often as FailureLine says.
  std::function<void(const Error& error)> on_failure = {};
};

// Keeps a sink in step with all objects of one kind that a selection names: list, then watch with
// bookmarks, resumed after a break. If the version to resume from has expired, it lists again and
// reports only the difference. A broken connection removes nothing.
class Watch {
 public:
  // All references outlive the watch. Start may be called once.
  Watch(Client& client, const Kind& kind, Selection selection, WatchSink& sink,
        WatchOptions options = {});
  // Stops and waits for the thread: at most a second, unless the sink blocks.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void Start();
  void Stop();

  [[nodiscard]] bool synced() const { return synced_; }
  // Complete lists read and streams opened so far (for tests and metrics).
  [[nodiscard]] int lists() const { return lists_; }
  [[nodiscard]] int streams() const { return streams_; }

 private:
  void Run(const std::stop_token& stop);
  Status ListAll(Client& client);
  Status Stream(Client& client);
  void OnEvent(const Json& event);
  void TellSynced();
  void TellFailure(const Error& error, int failures);

  Client& client_;
  const Kind kind_;
  const Selection selection_;
  WatchSink& sink_;
  const WatchOptions options_;
  Known known_;
  std::string resource_version_;  // where the stream resumes; empty: list first
  int progress_ = 0;              // complete lists and events so far
  FailureLine failure_line_;
  std::atomic<bool> synced_ = false;
  std::atomic<int> lists_ = 0;
  std::atomic<int> streams_ = 0;
  std::jthread thread_;
};

}  // namespace gantry::kube
