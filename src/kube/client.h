// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "kube/config.h"
#include "kube/kind.h"
#include "kube/object.h"

namespace gantry::kube {

struct ClientOptions {
  // The User-Agent is `gantry/<version> (<component>)`.
  std::string component = "client";
  // Sent as fieldManager with every write; needed by Apply.
  std::string field_manager = "gantry";
  // One complete request, including the wait of a Retry-After. Does not bound a watch's stream.
  std::chrono::milliseconds timeout{30'000};
  // Connections kept open for the next request. 0: each is closed after its response, as a node's
  // agents want. The next request closes one that was idle for longer than idle_expiry.
  int max_idle_connections = 2;
  std::chrono::seconds idle_expiry{30};
};

// Which objects of a kind. Selectors in kubectl's form ("a=b,c in (d,e)", "metadata.name=x").
struct Selection {
  std::string ns = {};  // empty: all namespaces
  std::string labels = {};
  std::string fields = {};
};

// A part of an object with an endpoint of its own.
enum class Part { kWhole, kStatus };

enum class Propagation { kBackground, kForeground, kOrphan };

struct DeleteOptions {
  Propagation propagation = Propagation::kBackground;
  // Preconditions; empty: none. kConflict if another object has the name by now.
  std::string uid = {};
  std::string resource_version = {};
  long long grace_seconds = -1;  // -1: the kind's own
};

enum class Force { kNo, kYes };

// Which part of a container's log (core/v1 PodLogOptions).
struct LogOptions {
  std::string container = {};     // may be empty if the pod has only one
  bool previous = false;          // of the container's previous run
  std::chrono::seconds since{0};  // 0: from the beginning
  long long tail_lines = 0;       // the last ones; 0: all
  long long limit_bytes = 0;      // 0: no limit
};

class Transport;

// A Kubernetes API client. Thread-safe; every call blocks up to the timeout, or until the stop
// token given to Create is triggered (then kUnavailable).
//
// Errors, from the HTTP status and metav1.Status: 404 kNotFound; 409 and 410 (an expired
// resourceVersion or continue token: read again) kConflict; 400, 405, 413, 415, 422 kInvalid, the
// message naming the fields; 401 (after the token was read again once) and 403 kDenied; 429, 5xx
// and broken connections kUnavailable; kTimeout past the timeout. Messages read
// "verb kind namespace/name: reason".
class Client {
 public:
  // kInvalid when a certificate or a key of the config can't be used. Opens no connection.
  static Result<std::unique_ptr<Client>> Create(Config config, ClientOptions options = {},
                                                std::stop_token stop = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The same client (connections shared) whose calls also end when `stop` is triggered, with this
  // `timeout` instead of the options' (0: the same).
  [[nodiscard]] std::unique_ptr<Client> Bounded(
      std::stop_token stop, std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) const;

  Result<Json> Get(const Kind& kind, const Key& key);

  // Calls `item` once for each object, in pages of `page` objects, while the response is still
  // being read: at most one object is in memory. An item has its apiVersion and kind, as Get's
  // result. Returns the list's resourceVersion, from which a watch can continue. kConflict if the
  // continue token expired between two pages: start again.
  using ItemSink = std::function<void(Json item)>;
  Result<std::string> List(const Kind& kind, const Selection& selection, const ItemSink& item,
                           int page = 500);

  // Each returns the object as stored.
  Result<Json> Create(const Kind& kind, const Json& object);
  // With metadata.resourceVersion in the object: kConflict if it has changed since.
  Result<Json> Replace(const Kind& kind, const Json& object, Part part = Part::kWhole);
  // Server-side apply under the client's field manager. kConflict names the other manager's fields
  // unless forced.
  Result<Json> Apply(const Kind& kind, const Json& object, Force force = Force::kYes,
                     Part part = Part::kWhole);
  // RFC 7396; null removes a key. A metadata.resourceVersion in the patch is a precondition.
  Result<Json> MergePatch(const Kind& kind, const Key& key, const Json& patch,
                          Part part = Part::kWhole);
  // RFC 6902; kInvalid if a test operation fails.
  Result<Json> JsonPatch(const Kind& kind, const Key& key, const Json& operations,
                         Part part = Part::kWhole);
  Status Delete(const Kind& kind, const Key& key, const DeleteOptions& options = {});
  // policy/v1 Eviction. kUnavailable, without a retry, if a disruption budget does not allow it
  // now.
  Status Evict(const Key& pod, const DeleteOptions& options = {});

  // A container's log, unchanged; empty while its pod has no node. kInvalid: no such container, or
  // it has not run, or `previous` and no previous run. The kubelet sends it through the API server;
  // kUnavailable or kTimeout: it did not answer.
  Result<std::string> Log(const Key& pod, const LogOptions& options);
  // GET of any path ("/version", "/apis").
  Result<Json> GetPath(std::string_view path);

  // One watch request: `event` is called with each {"type", "object"} until the server ends the
  // stream (success), the connection breaks, or the client is stopped. kConflict when the
  // resourceVersion is too old. After `idle_limit` without a byte the connection counts as dead
  // (kTimeout). Most callers want Watch (watch.h).
  struct WatchFrom {
    std::string resource_version;
    std::chrono::seconds server_timeout{300};
    std::chrono::seconds idle_limit{240};
  };
  using EventSink = std::function<void(const Json& event)>;
  Status WatchOnce(const Kind& kind, const Selection& selection, const WatchFrom& from,
                   const EventSink& event);

  [[nodiscard]] const Config& config() const { return *config_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }
  // Connections open now (for tests and metrics).
  [[nodiscard]] int open_connections() const;
  // `rest_client_requests_total` of all clients that share this one's connections, in Prometheus'
  // text format 0.0.4.
  [[nodiscard]] std::string FormatMetrics() const;

 private:
  Client(std::shared_ptr<const Config> config, ClientOptions options,
         std::shared_ptr<Transport> transport, std::stop_token stop);
  struct Call;
  struct Writing;
  Result<Json> Ask(Call call) const;
  Result<Json> Write(const Writing& writing, const Kind& kind, const Key& key, const Json& body,
                     Part part) const;
  Status Stream(const Call& call, const std::function<void(std::string_view)>& body) const;

  const std::shared_ptr<const Config> config_;
  const ClientOptions options_;
  const std::shared_ptr<Transport> transport_;
  const std::stop_token stop_;
};

}  // namespace gantry::kube
