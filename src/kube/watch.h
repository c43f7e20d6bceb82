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

// Where a watch puts what it sees. All calls come from the watch's one thread.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // The object is new or another than before. It may come again unchanged.
  virtual void Upsert(const Json& object) = 0;
  // The server said that the object is gone (or matches no longer), in an event or in a full list.
  virtual void Remove(const Key& key) = 0;
  // Everything that was there at the start has been seen. Called once.
  virtual void Synced() = 0;
};

struct WatchOptions {
  Backoff backoff{.base = std::chrono::milliseconds(200), .limit = std::chrono::seconds(30)};
  // The server is asked to end each watch after a random time between these two: seldom, so that an
  // idle cluster is asked nothing for many minutes. A dead connection is noticed within a minute by
  // TCP's keep-alive.
  std::chrono::seconds server_timeout_min{1800};
  std::chrono::seconds server_timeout_max{3600};
  // After so much silence another stream goes on where this one was: a proxy in between answers
  // keep-alives itself, whatever has become of the server. kube-apiserver sends a bookmark about
  // once a minute (k8s.io/apiserver, cacher: defaultBookmarkFrequency), so this comes to nothing
  // where all is well, and to one request where a server sends none.
  std::chrono::seconds idle_limit{240};
  // The server's answer to "no such kind" counts as an empty list at the start (a custom resource
  // that may be installed later); asked again at the back-off's limit.
  bool absent_kind_is_empty = false;
  // Told of every list or stream that did not succeed, before the watch waits. An expired
  // resourceVersion (kConflict) is among them and harmless. Empty: the watch logs those that need
  // somebody, at the pace of FailureLine.
  std::function<void(const Error& error)> on_failure = {};
};

// Keeps a sink in step with all objects of one kind that a selection names: list, then watch with
// bookmarks, resumed where it broke. When the place to resume from has expired, the list is read
// anew and only the difference is told. Nothing is removed because a connection broke.
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
  // Full lists read and streams opened so far (for tests and metrics).
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
  std::string resource_version_;  // where the stream goes on; empty: list first
  int progress_ = 0;              // lists read whole and events seen
  FailureLine failure_line_;
  std::atomic<bool> synced_ = false;
  std::atomic<int> lists_ = 0;
  std::atomic<int> streams_ = 0;
  std::jthread thread_;
};

}  // namespace gantry::kube
