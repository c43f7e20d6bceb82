// SPDX-License-Identifier: Apache-2.0
// When does a watch list again, from which version does it resume, and how long does it wait after
// a failure? The server forgets old versions after some minutes (etcd compaction), or at once when
// its watch cache restarts. It then answers 410, and only a complete list shows what has changed.
// Bookmarks move the version to resume from even without changes.
#include "kube/watch.h"

#include <condition_variable>

#include "base/log.h"
#include "base/text.h"

namespace gantry::kube {
namespace {

constexpr std::chrono::milliseconds kShortestStream{500};

void WaitFor(std::chrono::milliseconds delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, delay, [] { return false; });
}

std::chrono::seconds Between(std::chrono::seconds low, std::chrono::seconds high) {
  const auto span = static_cast<uint64_t>(std::max<long long>(0, (high - low).count()));
  return low + std::chrono::seconds(Random() % (span + 1));
}

}  // namespace

Watch::Watch(Client& client, const Kind& kind, Selection selection, WatchSink& sink,
             WatchOptions options)
    : client_(client),
      kind_(kind),
      selection_(std::move(selection)),
      sink_(sink),
      options_(std::move(options)) {}

Watch::~Watch() { Stop(); }

void Watch::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Watch::Stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

void Watch::Run(const std::stop_token& stop) {
  const std::unique_ptr<Client> client = client_.Bounded(stop);
  int failures = 0;
  while (!stop.stop_requested()) {
    Status status;
    if (resource_version_.empty()) {
      status = ListAll(*client);
    }
    if (status.has_value()) {
      const int before = progress_;
      const SteadyTime started = std::chrono::steady_clock::now();
      status = Stream(*client);
      if (progress_ != before) {
        failures = 0;
      } else if (status.has_value() &&
                 std::chrono::steady_clock::now() - started < kShortestStream) {
        // Wait before reconnecting: a proxy may end every stream at once.
        status = Fail(ErrorKind::kUnavailable, "watch: the stream ended at once");
      }
    }
    if (status.has_value()) {
      failures = 0;
      continue;
    }
    ++failures;
    std::chrono::milliseconds delay = options_.backoff.Delay(failures, Random());
    if (status.error().kind == ErrorKind::kConflict) {
      resource_version_.clear();
    } else if (status.error().kind == ErrorKind::kNotFound && options_.absent_kind_is_empty) {
      TellSynced();
      delay = options_.backoff.limit;
    }
    if (stop.stop_requested()) {
      return;
    }
    TellFailure(status.error(), failures);
    WaitFor(delay, stop);
  }
}

Status Watch::ListAll(Client& client) {
  ++lists_;
  known_.BeginList();
  TRY_ASSIGN(resource_version_, client.List(kind_, selection_, [this](const Json& object) {
    if (known_.Changed(KeyOf(object), ResourceVersionOf(object))) {
      sink_.Upsert(object);
    }
  }));
  for (const Key& key : known_.EndList()) {
    sink_.Remove(key);
  }
  ++progress_;
  TellSynced();
  return {};
}

Status Watch::Stream(Client& client) {
  const std::chrono::seconds server_timeout =
      Between(options_.server_timeout_min, options_.server_timeout_max);
  ++streams_;
  const SteadyTime started = std::chrono::steady_clock::now();
  Status streamed = client.WatchOnce(kind_, selection_,
                                     {.resource_version = resource_version_,
                                      .server_timeout = server_timeout,
                                      .idle_limit = options_.idle_limit},
                                     [this](const Json& event) { OnEvent(event); });
  const bool silent = !streamed.has_value() && streamed.error().kind == ErrorKind::kTimeout &&
                      std::chrono::steady_clock::now() - started >= options_.idle_limit;
  return silent ? Status() : streamed;
}

void Watch::OnEvent(const Json& event) {
  const std::string type = TextAt(event, "type");
  const Json* object = At(event, "object");
  if (object == nullptr) {
    return;
  }
  ++progress_;
  std::string version = ResourceVersionOf(*object);
  if (type == "ADDED" || type == "MODIFIED") {
    if (known_.Changed(KeyOf(*object), version)) {
      sink_.Upsert(*object);
    }
  } else if (type == "DELETED") {
    const Key key = KeyOf(*object);
    if (known_.Gone(key)) {
      sink_.Remove(key);
    }
  }
  if (!version.empty()) {
    resource_version_ = std::move(version);
  }
}

void Watch::TellFailure(const Error& error, int failures) {
  if (options_.on_failure) {
    options_.on_failure(error);
    return;
  }
  // Errors that the next try should fix: an expired version, a connection that broke once.
  const bool usual = error.kind == ErrorKind::kConflict ||
                     (error.kind == ErrorKind::kNotFound && options_.absent_kind_is_empty) ||
                     (error.kind == ErrorKind::kUnavailable && failures == 1);
  if (!usual && failure_line_.Due(error.message, failures)) {
    log::Warning("{} ({}, failure {} in a row)", error.message, KindName(error.kind), failures);
  }
}

void Watch::TellSynced() {
  if (!synced_.exchange(true)) {
    sink_.Synced();
  }
}

}  // namespace gantry::kube
